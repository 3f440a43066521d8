// Translates PTX instructions to LLVM IR, by the PTX manual.
#include "ptx_to_llvm.h"

#include "integers.h"
#include "ptx_type.h"
#include "thread.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <stdexcept>

namespace kiln::ptx {
namespace {

using llvm::StringRef;
using llvm::Value;
using llvm::Intrinsic::ID;

/// Values are integers of the width of their register; an instruction reads them as its type.
class Translator {
 public:
  Translator(const Entry& entry, const std::string& name, llvm::Module& module)
      : entry_(entry), context_(module.getContext()), b_(context_) {
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, /*isVarArg=*/false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  }

  void run() {
    registers_block_ = new_block();
    llvm::BasicBlock* const start = new_block();
    b_.SetInsertPoint(start);
    Value* const local = field(b_.getInt64Ty(), offsetof(Thread, local));
    for (const Local& l : entry_.locals) symbols_[ref(l.name)] = b_.CreateAdd(local, b_.getInt64(l.offset));
    // Addresses of shared memory begin at 0.
    for (const Shared& v : entry_.shared) symbols_[ref(v.name)] = b_.getInt64(v.offset);
    Value* const parameters = field(b_.getInt64Ty(), offsetof(Thread, parameters));
    for (const Parameter& p : entry_.parameters)
      symbols_[ref(p.name)] = b_.CreateAdd(parameters, b_.getInt64(p.offset));
    for (const Line& line : entry_.lines) {
      line_ = &line;
      if (line.label.empty()) {
        instruction();
      } else {
        go_to(block(line.label));
        passed_.insert(ref(line.label));
      }
    }
    if (!ended_) throw std::runtime_error("PTX: the end of the entry is reached");
    b_.SetInsertPoint(registers_block_);
    b_.CreateBr(start);
  }

 private:
  static StringRef ref(std::string_view s) { return {s.data(), s.size()}; }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(
        fmt::format("PTX: {}: {} {}", what, line_->opcode, fmt::join(line_->operands, ", ")));
  }

  //===--- the thread and the device --------------------------------------===//

  Value* field_address(std::size_t offset) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), function_->getArg(0), offset);
  }
  Value* field(llvm::Type* type, std::size_t offset) { return b_.CreateLoad(type, field_address(offset)); }

  /// A call of the device: the thread, the arguments, and the instruction's place.
  Value* call(StringRef name, llvm::Type* result, llvm::ArrayRef<Value*> arguments) {
    llvm::SmallVector<Value*> all{function_->getArg(0)};
    all.append(arguments.begin(), arguments.end());
    all.push_back(b_.getInt32(static_cast<std::uint32_t>(line_ - entry_.lines.data())));
    llvm::SmallVector<llvm::Type*> types;
    for (Value* v : all) types.push_back(v->getType());
    auto* const type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
    return b_.CreateCall(function_->getParent()->getOrInsertFunction(name, type), all);
  }

  //===--- control flow ---------------------------------------------------===//

  llvm::BasicBlock* new_block() { return llvm::BasicBlock::Create(context_, "", function_); }
  llvm::BasicBlock* block(StringRef label) {
    auto& at = blocks_[label];
    if (!at) at = new_block();
    return at;
  }
  /// Goes on in this block.
  void go_to(llvm::BasicBlock* next) {
    if (!ended_) b_.CreateBr(next);
    b_.SetInsertPoint(next);
    ended_ = false;
  }

  void instruction() {
    if (ended_) go_to(new_block());
    parts_.clear();
    ref(line_->opcode).split(parts_, '.');
    name_ = parts_.front();
    type_ = type_of(parts_.back()).value_or(Type());
    if (line_->predicate.empty()) return execute();
    Value* condition = load(ref(line_->predicate), 1);
    if (line_->negated) condition = b_.CreateNot(condition);
    llvm::BasicBlock *const then = new_block(), *const after = new_block();
    b_.CreateCondBr(condition, then, after);
    b_.SetInsertPoint(then);
    execute();
    go_to(after);
  }

  //===--- operands -------------------------------------------------------===//

  unsigned bits_of(StringRef reg) const {
    const StringRef prefix = reg.rtrim("0123456789");
    for (const Registers& r : entry_.registers)
      if (ref(r.prefix) == prefix) return r.bits;
    if (reg == "%SP" || reg == "%SPL") return 64;
    fail("a register that is not declared");
  }
  llvm::AllocaInst* slot(StringRef reg) {
    auto& at = registers_[reg];
    if (!at) {
      const llvm::IRBuilderBase::InsertPointGuard guard(b_);
      b_.SetInsertPoint(registers_block_);
      at = b_.CreateAlloca(b_.getIntNTy(bits_of(reg)));
    }
    return at;
  }

  /// The operand's bits, `bits` of them: the lowest of a wider register.
  Value* load(StringRef s, unsigned bits) {
    if (s.empty()) fail("an operand is missing");
    if (s == "WARP_SZ") return llvm::ConstantInt::get(context_, llvm::APInt(bits, 32));
    if (s.front() == '%') {
      Value* v = special(s);
      if (!v) v = b_.CreateLoad(b_.getIntNTy(bits_of(s)), slot(s));
      if (v->getType()->getIntegerBitWidth() < bits) fail("an operand is too narrow");
      return b_.CreateTrunc(v, b_.getIntNTy(bits));
    }
    if (const auto found = symbols_.find(s); found != symbols_.end()) return found->second;
    std::uint64_t value = 0;
    s.consume_back("U");
    if (s.starts_with("0f") || s.starts_with("0d")) {
      if (s.drop_front(2).getAsInteger(16, value)) fail("no number");
    } else if (StringRef digits = s; digits.consume_front("-")) {
      if (digits.getAsInteger(0, value)) fail("no number");
      value = 0 - value;
    } else if (s.getAsInteger(0, value)) {
      fail("an operand that is not known");
    }
    return llvm::ConstantInt::get(context_, llvm::APInt(64, value).trunc(bits));
  }
  Value* special(StringRef s) {
    if (s == "%laneid") return field(b_.getInt32Ty(), offsetof(Thread, lane));
    if (s == "%warpid") return field(b_.getInt32Ty(), offsetof(Thread, warp));
    const auto [name, axis] = s.split('.');
    if (axis.size() != 1 || axis.front() < 'x' || axis.front() > 'z') return nullptr;
    const std::size_t offset = llvm::StringSwitch<std::size_t>(name)
                                   .Case("%tid", offsetof(Thread, tid))
                                   .Case("%ntid", offsetof(Thread, ntid))
                                   .Case("%ctaid", offsetof(Thread, ctaid))
                                   .Case("%nctaid", offsetof(Thread, nctaid))
                                   .Default(0);
    if (offset == 0) return nullptr;
    return field(b_.getInt32Ty(), offset + 4 * static_cast<std::size_t>(axis.front() - 'x'));
  }
  StringRef text(std::size_t i) const {
    if (i >= line_->operands.size()) fail("an operand is missing");
    return ref(line_->operands[i]);
  }
  /// Operand i, read as the instruction's type or another.
  Value* in(std::size_t i, Type t) {
    Value* const v = load(text(i), t.bits);
    return t.is_float() ? b_.CreateBitCast(v, float_type(t)) : v;
  }
  Value* in(std::size_t i) { return in(i, type_); }
  llvm::Type* float_type(Type t) {
    if (t.bits != 32 && t.bits != 64) fail("a float that is not known");
    return t.bits == 32 ? b_.getFloatTy() : b_.getDoubleTy();
  }

  /// Writes operand 0, or another: the bits, extended to the register by the sign or by zeros.
  void out(Value* v, bool with_sign = false, std::size_t i = 0) { store(text(i), v, with_sign); }
  void store(StringRef reg, Value* v, bool with_sign = false) {
    if (v->getType()->isFloatingPointTy())
      v = b_.CreateBitCast(v, b_.getIntNTy(v->getType()->getScalarSizeInBits()));
    auto* const type = b_.getIntNTy(bits_of(reg));
    if (v->getType()->getIntegerBitWidth() > type->getBitWidth()) fail("the result is too wide");
    b_.CreateStore(with_sign ? b_.CreateSExt(v, type) : b_.CreateZExt(v, type), slot(reg));
  }

  /// The operands in braces, or the one operand.
  llvm::SmallVector<StringRef> parts_of(std::size_t i) const {
    llvm::SmallVector<StringRef> parts;
    StringRef list = text(i);
    if (!list.consume_front("{")) return {list};
    if (!list.consume_back("}")) fail("no list");
    list.split(parts, ',');
    for (StringRef& part : parts)
      if (part = part.trim(); part.empty()) fail("an operand is missing");
    return parts;
  }

  /// "[%rd1+8]" as a number.
  Value* address(std::size_t i) {
    StringRef s = text(i);
    if (!s.consume_front("[") || !s.consume_back("]")) fail("no address");
    const auto [base, offset] = s.split('+');
    Value* at = load(base, 64);
    if (std::int64_t bytes = 0; !offset.empty()) {
      if (offset.getAsInteger(10, bytes)) fail("no offset");
      at = b_.CreateAdd(at, b_.getInt64(static_cast<std::uint64_t>(bytes)));
    }
    return at;
  }

  bool has(StringRef part) const { return llvm::is_contained(parts_, part); }
  /// Whether the opcode has these parts between its name and its type.
  bool is(std::initializer_list<StringRef> modifiers) const {
    return llvm::ArrayRef(parts_).drop_front().drop_back() ==
           llvm::ArrayRef(modifiers.begin(), modifiers.size());
  }

  //===--- instructions ---------------------------------------------------===//

  void execute() {
    if (name_ == "bra") return branch();
    if (name_ == "ret") {
      b_.CreateRetVoid();
      ended_ = true;
      return;
    }
    if (name_ == "bar" || name_ == "barrier") return barrier();
    if (type_.bits == 0) fail("an instruction that is not known");
    if (name_ == "shfl") return shuffle();
    if (name_ == "vote") return vote();
    if (name_ == "mma") return multiply_matrices();
    if (name_ == "ld") return access(false);
    if (name_ == "st") return access(true);
    if (name_ == "mov") return move();
    if (name_ == "cvt") return convert();
    if (name_ == "cvta") return convert_address();
    if (name_ == "setp") return compare();
    if (name_ == "selp") return out(b_.CreateSelect(load(text(3), 1), in(1), in(2)));
    if (type_.is_float()) return float_arithmetic();
    if (name_ == "mul" || name_ == "mad") return multiply();
    integer_arithmetic();
  }

  void branch() {
    if (line_->opcode != "bra" && line_->opcode != "bra.uni") fail("an instruction that is not known");
    if (passed_.contains(text(0))) count_loop();
    b_.CreateBr(block(text(0)));
    ended_ = true;
  }
  /// A branch backward.
  void count_loop() {
    Value* const left = b_.CreateSub(field(b_.getInt64Ty(), offsetof(Thread, loops)), b_.getInt64(1));
    b_.CreateStore(left, field_address(offsetof(Thread, loops)));
    when(b_.CreateICmpEQ(left, b_.getInt64(0)), [&] { call("kiln_ptx_endless", b_.getVoidTy(), {}); });
  }
  void when(Value* condition, llvm::function_ref<void()> body) {
    llvm::BasicBlock *const then = new_block(), *const after = new_block();
    b_.CreateCondBr(condition, then, after);
    b_.SetInsertPoint(then);
    body();
    go_to(after);
  }

  //===--- threads of a block ---------------------------------------------===//

  /// bar.sync A; barrier.sync A; of all threads of the block.
  void barrier() {
    const bool is_aligned = name_ == "bar" || has("aligned");
    if ((name_ == "bar" ? line_->opcode != "bar.sync"
                        : line_->opcode != "barrier.sync" && line_->opcode != "barrier.sync.aligned") ||
        line_->operands.size() != 1)
      fail("a barrier that is not known");
    call("kiln_ptx_barrier", b_.getVoidTy(), {load(text(0), 32), b_.getInt1(is_aligned)});
  }

  /// shfl.sync.MODE.b32 d|p, a, b, c, mask
  void shuffle() {
    if (parts_.size() != 4 || parts_[1] != "sync" || parts_[3] != "b32" || line_->operands.size() != 5)
      fail("a shuffle that is not known");
    const int mode = llvm::StringSwitch<int>(parts_[2])
                         .Case("up", static_cast<int>(Shuffle::up))
                         .Case("down", static_cast<int>(Shuffle::down))
                         .Case("bfly", static_cast<int>(Shuffle::bfly))
                         .Case("idx", static_cast<int>(Shuffle::idx))
                         .Default(-1);
    if (mode < 0) fail("a shuffle that is not known");
    Value* const both = call("kiln_ptx_shuffle", b_.getInt64Ty(),
                             {in(1), load(text(2), 32), load(text(3), 32), load(text(4), 32),
                              b_.getInt32(static_cast<std::uint32_t>(mode))});
    const auto [to, predicate] = text(0).split('|');
    store(to, b_.CreateTrunc(both, b_.getInt32Ty()));
    if (!predicate.empty()) store(predicate, b_.CreateTrunc(b_.CreateLShr(both, 32), b_.getInt1Ty()));
  }

  /// vote.sync.MODE.pred d, a, mask and vote.sync.ballot.b32 d, a, mask
  void vote() {
    if (parts_.size() != 4 || parts_[1] != "sync" || line_->operands.size() != 3)
      fail("a vote that is not known");
    const int mode = llvm::StringSwitch<int>(parts_[2])
                         .Case("all", static_cast<int>(Vote::all))
                         .Case("any", static_cast<int>(Vote::any))
                         .Case("uni", static_cast<int>(Vote::uni))
                         .Case("ballot", static_cast<int>(Vote::ballot))
                         .Default(-1);
    const bool is_ballot = mode == static_cast<int>(Vote::ballot);
    if (mode < 0 || parts_[3] != (is_ballot ? "b32" : "pred")) fail("a vote that is not known");
    StringRef predicate = text(1);
    const bool negated = predicate.consume_front("!");
    Value* value = load(predicate, 1);
    if (negated) value = b_.CreateNot(value);
    Value* const result = call("kiln_ptx_vote", b_.getInt32Ty(),
                               {value, load(text(2), 32), b_.getInt32(static_cast<std::uint32_t>(mode))});
    out(is_ballot ? result : b_.CreateTrunc(result, b_.getInt1Ty()));
  }

  /// mma.sync.aligned.SHAPE.row.col.f32.AB.AB.f32 {d}, {a}, {b}, {c}
  void multiply_matrices() {
    const std::optional<Mma> form = mma_of(line_->opcode);
    const auto d = parts_of(0), a = parts_of(1), b = parts_of(2), c = parts_of(3);
    if (!form || line_->operands.size() != 4 || d.size() != 4 || a.size() != 4 || b.size() != 2 ||
        c.size() != 4)
      fail("a product of matrices that is not known");
    if (!fragments_)
      fragments_ = llvm::IRBuilder<>(registers_block_).CreateAlloca(b_.getInt32Ty(), b_.getInt32(mma_words));
    const auto word = [&](std::size_t i) { return b_.CreateConstGEP1_64(b_.getInt32Ty(), fragments_, i); };
    std::size_t next = 0;
    for (const auto* fragment : {&a, &b, &c})
      for (const StringRef r : *fragment) b_.CreateStore(load(r, 32), word(next++));
    call("kiln_ptx_mma", b_.getVoidTy(), {fragments_, b_.getInt32(static_cast<std::uint32_t>(*form))});
    for (const auto& [i, r] : llvm::enumerate(d))
      store(r, b_.CreateLoad(b_.getInt32Ty(), word(next - d.size() + i)));
  }

  //===--- memory ---------------------------------------------------------===//

  /// Addresses of global and local memory are generic ones as they are.
  void convert_address() {
    Value* const at = in(1);
    Value* const shared = field(b_.getInt64Ty(), offsetof(Thread, shared));
    if (is({"shared"})) return out(b_.CreateAdd(at, shared));
    if (is({"to", "shared"})) return out(b_.CreateSub(at, shared));
    if (is({"global"}) || is({"to", "global"}) || is({"local"}) || is({"to", "local"})) return out(at);
    fail("an address that is not known");
  }

  /// ld and st: SPACE, of one value or of a vector.
  void access(bool writes) {
    llvm::ArrayRef<StringRef> rest = llvm::ArrayRef(parts_).drop_front().drop_back();
    const auto take = [&](StringRef word) {
      if (rest.empty() || rest.front() != word) return false;
      rest = rest.drop_front();
      return true;
    };
    const bool is_parameter = take("param");
    Space space = Space::generic;
    if (take("global"))
      space = take("nc") ? Space::global_nc : Space::global;
    else if (take("shared"))
      space = Space::shared;
    else if (take("local"))
      space = Space::local;
    const unsigned lanes = take("v2") ? 2 : take("v4") ? 4 : 1;
    const unsigned bytes = type_.bits / 8;
    const llvm::SmallVector<StringRef> values = parts_of(writes ? 1 : 0);
    if (!rest.empty() || values.size() != lanes || bytes * lanes > 16 || bytes == 0 ||
        line_->operands.size() != 2 || (writes && (is_parameter || space == Space::global_nc)))
      fail("an access that is not known");
    Value* at = address(writes ? 0 : 1);
    at = is_parameter ? b_.CreateIntToPtr(at, b_.getPtrTy())
                      : call("kiln_ptx_access", b_.getPtrTy(),
                             {at, b_.getInt32(bytes * lanes), b_.getInt1(writes),
                              b_.getInt32(static_cast<std::uint32_t>(space))});
    for (const auto [i, value] : llvm::enumerate(values)) {
      Value* const place = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), at, i * bytes);
      if (writes)
        b_.CreateStore(load(value, type_.bits), place)->setAlignment(llvm::Align(bytes));
      else if (value != "_")
        store(value, b_.CreateAlignedLoad(b_.getIntNTy(type_.bits), place, llvm::Align(bytes)),
              type_.is_signed());
    }
  }

  void move() {
    const llvm::SmallVector<StringRef> to = parts_of(0), from = parts_of(1);
    if (to.size() > 1) {  // from one register to several
      const unsigned bits = type_.bits / static_cast<unsigned>(to.size());
      Value* const whole = in(1);
      for (auto [i, part] : llvm::enumerate(to))
        if (part != "_") store(part, b_.CreateTrunc(b_.CreateLShr(whole, i * bits), b_.getIntNTy(bits)));
    } else if (from.size() > 1) {
      const unsigned bits = type_.bits / static_cast<unsigned>(from.size());
      Value* whole = llvm::ConstantInt::get(b_.getIntNTy(type_.bits), 0);
      for (auto [i, part] : llvm::enumerate(from))
        whole = b_.CreateOr(whole, b_.CreateShl(b_.CreateZExt(load(part, bits), whole->getType()), i * bits));
      out(whole);
    } else {
      out(in(1));
    }
  }

  /// cvt.TO.FROM: operand 1 is read as FROM; a result narrower than its register is extended by its sign.
  void convert() {
    const Type from = type_;
    if (line_->opcode == "cvt.rna.tf32.f32") return out(rounded_to_tf32(b_, in(1)));
    const Type to = type_of(parts_[parts_.size() - 2]).value_or(Type());
    if (to.bits == 0) fail("a conversion that is not known");
    const llvm::ArrayRef<StringRef> rounding = llvm::ArrayRef(parts_).drop_front().drop_back(2);
    const StringRef round = rounding.empty() ? StringRef() : rounding.front();
    if (rounding.size() > 1) fail("a conversion that is not known");
    auto* const integer = b_.getIntNTy(to.bits);
    Value* const x = in(1, from);
    if (from.is_float() && to.is_float()) {
      if (from.bits == to.bits) return out(rounded(x, round));
      if (from.bits < to.bits && round.empty()) return out(b_.CreateFPExt(x, float_type(to)));
      if (from.bits > to.bits && round == "rn") return out(b_.CreateFPTrunc(x, float_type(to)));
    } else if (from.is_float() && round == "rzi") {
      const ID id = to.is_signed() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
      return out(b_.CreateIntrinsic(id, {integer, x->getType()}, {x}), to.is_signed());
    } else if (to.is_float() && round == "rn") {
      return out(from.is_signed() ? b_.CreateSIToFP(x, float_type(to)) : b_.CreateUIToFP(x, float_type(to)));
    } else if (!from.is_float() && !to.is_float() && round.empty()) {
      return out(from.is_signed() ? b_.CreateSExtOrTrunc(x, integer) : b_.CreateZExtOrTrunc(x, integer),
                 to.is_signed());
    }
    fail("a conversion that is not known");
  }
  /// To an integer, as a float.
  Value* rounded(Value* x, StringRef how) {
    const ID id = llvm::StringSwitch<ID>(how)
                      .Case("rmi", llvm::Intrinsic::floor)
                      .Case("rpi", llvm::Intrinsic::ceil)
                      .Case("rni", llvm::Intrinsic::roundeven)
                      .Case("rzi", llvm::Intrinsic::trunc)
                      .Default(llvm::Intrinsic::not_intrinsic);
    if (id == llvm::Intrinsic::not_intrinsic) fail("a rounding that is not known");
    return b_.CreateUnaryIntrinsic(id, x);
  }

  void compare() {
    using P = llvm::CmpInst::Predicate;
    if (parts_.size() != 3) fail("a comparison that is not known");
    const StringRef how = parts_[1];
    const P p = type_.is_float() ? llvm::StringSwitch<P>(how)
                                       .Case("eq", P::FCMP_OEQ)
                                       .Case("ne", P::FCMP_ONE)
                                       .Case("lt", P::FCMP_OLT)
                                       .Case("le", P::FCMP_OLE)
                                       .Case("gt", P::FCMP_OGT)
                                       .Case("ge", P::FCMP_OGE)
                                       .Case("equ", P::FCMP_UEQ)
                                       .Case("neu", P::FCMP_UNE)
                                       .Case("ltu", P::FCMP_ULT)
                                       .Case("leu", P::FCMP_ULE)
                                       .Case("gtu", P::FCMP_UGT)
                                       .Case("geu", P::FCMP_UGE)
                                       .Case("nan", P::FCMP_UNO)
                                       .Case("num", P::FCMP_ORD)
                                       .Default(P::BAD_FCMP_PREDICATE)
                                 : llvm::StringSwitch<P>(how)
                                       .Case("eq", P::ICMP_EQ)
                                       .Case("ne", P::ICMP_NE)
                                       .Case("lt", type_.is_signed() ? P::ICMP_SLT : P::ICMP_ULT)
                                       .Case("le", type_.is_signed() ? P::ICMP_SLE : P::ICMP_ULE)
                                       .Case("gt", type_.is_signed() ? P::ICMP_SGT : P::ICMP_UGT)
                                       .Case("ge", type_.is_signed() ? P::ICMP_SGE : P::ICMP_UGE)
                                       .Default(P::BAD_ICMP_PREDICATE);
    if (p == P::BAD_FCMP_PREDICATE || p == P::BAD_ICMP_PREDICATE) fail("a comparison that is not known");
    out(b_.CreateCmp(p, in(1), in(2)));
  }

  void float_arithmetic() {
    if (is({"rn"})) {
      if (name_ == "add") return out(b_.CreateFAdd(in(1), in(2)));
      if (name_ == "sub") return out(b_.CreateFSub(in(1), in(2)));
      if (name_ == "mul") return out(b_.CreateFMul(in(1), in(2)));
      if (name_ == "div") return out(b_.CreateFDiv(in(1), in(2)));
      if (name_ == "rcp") return out(b_.CreateFDiv(llvm::ConstantFP::get(float_type(type_), 1), in(1)));
      if (name_ == "sqrt") return out(b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, in(1)));
      if (name_ == "fma")
        return out(b_.CreateIntrinsic(llvm::Intrinsic::fma, {float_type(type_)}, {in(1), in(2), in(3)}));
    } else if (is({"rn", "ftz"})) {
      if (name_ == "add") return out(call("kiln_ptx_add_flushed", float_type(type_), {in(1), in(2)}));
      if (name_ == "fma") return out(call("kiln_ptx_fma_flushed", float_type(type_), {in(1), in(2), in(3)}));
    } else if (is({})) {
      if (name_ == "neg") return out(b_.CreateFNeg(in(1)));
      if (name_ == "abs") return out(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in(1)));
      // The operand that is no NaN; 0 is above -0.
      if (name_ == "max") return out(b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximumnum, in(1), in(2)));
      if (name_ == "min") return out(b_.CreateBinaryIntrinsic(llvm::Intrinsic::minimumnum, in(1), in(2)));
      // The sign is the first operand's.
      if (name_ == "copysign") return out(b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, in(2), in(1)));
    }
    fail("an instruction that is not known");
  }

  /// mul and mad: the lower half of the product, the upper, or both (wide).
  void multiply() {
    if (parts_.size() != 3) fail("an instruction that is not known");
    const StringRef half = parts_[1];
    auto* const type = b_.getIntNTy(type_.bits);
    auto* const wide = b_.getIntNTy(2 * type_.bits);
    const auto widened = [&](Value* v) {
      return type_.is_signed() ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide);
    };
    Value* result = b_.CreateMul(widened(in(1)), widened(in(2)));
    if (half == "lo")
      result = b_.CreateTrunc(result, type);
    else if (half == "hi")
      result = b_.CreateTrunc(b_.CreateLShr(result, type_.bits), type);
    else if (half != "wide")
      fail("an instruction that is not known");
    if (name_ == "mad") result = b_.CreateAdd(result, load(text(3), result->getType()->getIntegerBitWidth()));
    out(result);
  }

  void integer_arithmetic() {
    if (!is({})) fail("an instruction that is not known");
    const bool s = type_.is_signed();
    const auto binary = [&](ID with_sign, ID without) {
      out(b_.CreateBinaryIntrinsic(s ? with_sign : without, in(1), in(2)));
    };
    if (name_ == "add") return out(b_.CreateAdd(in(1), in(2)));
    if (name_ == "sub") return out(b_.CreateSub(in(1), in(2)));
    if (name_ == "div" || name_ == "rem") return divide();
    if (name_ == "min") return binary(llvm::Intrinsic::smin, llvm::Intrinsic::umin);
    if (name_ == "max") return binary(llvm::Intrinsic::smax, llvm::Intrinsic::umax);
    if (name_ == "neg") return out(b_.CreateNeg(in(1)));
    if (name_ == "abs")
      return out(
          b_.CreateIntrinsic(llvm::Intrinsic::abs, {b_.getIntNTy(type_.bits)}, {in(1), b_.getFalse()}));
    if (name_ == "and") return out(b_.CreateAnd(in(1), in(2)));
    if (name_ == "or") return out(b_.CreateOr(in(1), in(2)));
    if (name_ == "xor") return out(b_.CreateXor(in(1), in(2)));
    if (name_ == "not") return out(b_.CreateNot(in(1)));
    if (name_ == "shl" || name_ == "shr") return out(shift(b_, name_, s, in(1), load(text(2), 32)));
    if (name_ == "clz")
      return out(b_.CreateZExtOrTrunc(
          b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {b_.getIntNTy(type_.bits)}, {in(1), b_.getFalse()}),
          b_.getInt32Ty()));
    if (name_ == "bfe" && !s) return out(extract_bits(b_, in(1), load(text(2), 32), load(text(3), 32)));
    if (name_ == "prmt") return out(permute_bytes(b_, in(1), in(2), in(3)));
    fail("an instruction that is not known");
  }

  void divide() {
    Value *const x = in(1), *const y = in(2);
    when(b_.CreateICmpEQ(y, llvm::ConstantInt::get(y->getType(), 0)),
         [&] { call("kiln_ptx_divides_by_zero", b_.getVoidTy(), {}); });
    out(ptx::divide(b_, name_ == "rem", type_.is_signed(), x, y));
  }

  const Entry& entry_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_;
  llvm::BasicBlock* registers_block_ = nullptr;  // the first one
  llvm::StringMap<llvm::AllocaInst*> registers_;
  llvm::StringMap<llvm::BasicBlock*> blocks_;
  llvm::StringSet<> passed_;         // labels
  llvm::StringMap<Value*> symbols_;  // addresses
  bool ended_ = false;               // the block has its terminator
  Value* fragments_ = nullptr;       // MmaFragments, once there is a product of matrices
  // Of the instruction.
  const Line* line_ = nullptr;
  llvm::SmallVector<StringRef> parts_;
  StringRef name_;
  Type type_;
};

}  // namespace

void translate(const Entry& entry, const std::string& name, llvm::Module& module) {
  Translator(entry, name, module).run();
}

}  // namespace kiln::ptx
