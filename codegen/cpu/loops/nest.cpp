#include "codegen/cpu/loops/nest.h"

#include <fmt/format.h>

namespace kiln::codegen {
namespace {

/// How long before an element is asked for: processors do not look beyond a page. No more than a page, since
/// arrays that begin alike share the places of the first cache, which has eight for each line of a page.
constexpr std::int64_t prefetched_bytes = 4 * 1024;
/// Boxes of fewer elements are not worth code of their own.
constexpr std::int64_t least_narrow_elements = 4096;

}  // namespace

int stride_class(std::int64_t stride) { return stride == 0 ? 0 : stride == 1 ? 1 : 2; }

bool is_small_step(std::int64_t stride) { return stride >= 2 && stride <= 4; }

bool is_shared_by_rows(const Stream& stream) {
  const std::size_t rank = stream.strides.size();
  return rank > 1 && stream.strides[rank - 2] == 0;
}

bool lies_across(const Stream& stream) {
  const std::size_t rank = stream.strides.size();
  return rank > 1 && stream.operand >= 0 && stream.read && stream.dtype != DType::boolean &&
         stride_class(stream.strides.back()) == 2 && stream.strides[rank - 2] == 1;
}

void join_repeats(Dims& extents, std::vector<Stream>& streams, int lanes) {
  const std::size_t rank = extents.size();
  if (rank < 2 || extents.back() < 2 || extents.back() >= lanes || lanes % extents.back() != 0) return;
  const std::int64_t times = extents.back();
  const auto repeats = [&](const Stream& s) {
    return s.operand >= 0 && s.read && s.strides[rank - 2] == 1 && s.strides[rank - 1] == 0;
  };
  const auto goes_on = [&](const Stream& s) { return s.strides[rank - 2] == s.strides[rank - 1] * times; };
  if (!llvm::all_of(streams, [&](const Stream& s) { return repeats(s) || goes_on(s); })) return;
  extents.pop_back();
  extents.back() *= times;
  for (Stream& s : streams) {
    if (repeats(s))
      s.repeats = static_cast<int>(times);
    else
      s.strides[rank - 2] = s.strides[rank - 1];
    s.strides.pop_back();
  }
}

bool bring_across(Dims& extents, std::vector<Stream>& streams, int lanes, bool keep_outermost) {
  const std::size_t rank = extents.size();
  if (lanes == 1 || rank < 2 || extents.back() < lanes) return false;
  for (const Stream& s : streams)
    for (std::size_t axis = keep_outermost && rank > 2 ? 1 : 0; axis + 1 < rank; ++axis) {
      const auto inward = [&](Dims dims) {
        std::rotate(dims.begin() + static_cast<std::ptrdiff_t>(axis),
                    dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end() - 1);
        return dims;
      };
      Stream moved = s;
      moved.strides = inward(s.strides);
      if (extents[axis] < lanes || !lies_across(moved)) continue;
      extents = inward(extents);
      for (Stream& other : streams) other.strides = inward(other.strides);
      return true;
    }
  return false;
}

Nest::Nest(Dims extents, std::vector<Stream> streams, int lanes, int registers, int rows)
    : extents_(std::move(extents)),
      streams_(std::move(streams)),
      lanes_(lanes),
      registers_(lanes == 1 ? 1 : registers),
      rows_(rows) {
  if (!extents_.empty()) return;
  extents_.push_back(1);
  for (Stream& s : streams_) s.strides.push_back(0);
}

void Nest::append_params(std::vector<std::int64_t>& params) const {
  params.insert(params.end(), extents_.begin(), extents_.end());
  for (const Stream& s : streams_) {
    params.push_back(s.offset);
    params.insert(params.end(), s.strides.begin(), s.strides.end());
  }
}

std::int64_t Nest::elements() const {
  std::int64_t n = 1;
  for (std::int64_t e : extents_) n *= e;
  return n;
}

bool Nest::has_narrow_rows() const {
  return rank() > 1 && extents_.back() < lanes_ && elements() >= least_narrow_elements;
}

bool Nest::takes_squares() const {
  return lanes_ > 1 && rows_ % lanes_ == 0 && llvm::any_of(streams_, lies_across);
}

std::string Nest::key() const {
  std::string key = fmt::format("nest rank={} lanes={}x{}", rank(), registers_, lanes_);
  if (has_narrow_rows()) key += fmt::format(" of {}", extents_.back());
  if (rows_ > 1) key += fmt::format(" rows={}", rows_);
  for (const Stream& s : streams_)
    key += fmt::format(" {}:{}:{}{}{}{}", name_of(s.dtype), s.operand, stride_class(s.strides.back()),
                       s.repeats > 1 ? fmt::format("x{}", s.repeats) : "",
                       is_small_step(s.strides.back()) ? fmt::format("/{}", s.strides.back()) : "",
                       rows_ > 1 && is_shared_by_rows(s)   ? "shared"
                       : takes_squares() && lies_across(s) ? "across"
                                                           : "");
  return key;
}

int Nest::At::inner_class(std::size_t stream) const {
  return stride_class(nest_->streams_[stream].strides.back());
}

mlir::Value Nest::At::address(std::size_t stream) {
  const Stream& s = nest_->streams_[stream];
  switch (inner_class(stream)) {
    case 0:
      return bases_[stream];
    case 1:
      return e_->element(bases_[stream], s.repeats > 1 ? e_->div(j_, e_->index(s.repeats)) : j_, s.dtype);
    default:
      return e_->element(bases_[stream], e_->mul(j_, inner_[stream]), s.dtype);
  }
}

mlir::Value Nest::At::lane_offsets(std::size_t stream) {
  switch (inner_class(stream)) {
    case 0:
      return e_->splat(e_->index(0), lanes_);
    case 1:
      return e_->lane_numbers(lanes_);
    default:
      return e_->lane_offsets(inner_[stream], lanes_);
  }
}

mlir::Value Nest::At::load(std::size_t stream) {
  const Stream& s = nest_->streams_[stream];
  if (!crossed_.empty() && crossed_[stream]) return crossed_[stream];
  switch (inner_class(stream)) {
    case 0:
      return hoisted_[stream];
    case 1:
      if (s.repeats > 1) {
        const mlir::Value mask = mask_ ? e_->every(mask_, s.repeats) : mask_;
        return e_->repeat(e_->load(address(stream), s.dtype, lanes_ / s.repeats, mask), s.repeats);
      }
      return e_->load(address(stream), s.dtype, lanes_, mask_);
    default:
      if (lanes_ > 1 && is_small_step(s.strides.back())) return load_picked(stream);
      return e_->gather(address(stream), lane_offsets(stream), s.dtype, lanes_, mask_);
  }
}

mlir::Value Nest::At::load_picked(std::size_t stream) {
  const Stream& s = nest_->streams_[stream];
  const std::int64_t step = s.strides.back();
  llvm::SmallVector<mlir::Value> registers;
  for (std::int64_t lane = 0; lane < lanes_; lane += nest_->lanes_) {
    const mlir::Value first = e_->element(address(stream), e_->index(lane * step), s.dtype);
    registers.push_back(e_->load_every(first, step, s.dtype, nest_->lanes_, mask_));
  }
  return e_->join(registers);
}

void Nest::At::ask_ahead(std::size_t stream, bool streams) {
  const Stream& s = nest_->streams_[stream];
  if (inner_class(stream) != 1 || mask_ || lanes_ == 1) return;
  e_->ask_ahead(s.operand, address(stream), lanes_ / s.repeats * static_cast<std::int64_t>(size_of(s.dtype)),
                streams ? prefetched_bytes : 0);
}

void Nest::At::store(std::size_t stream, mlir::Value value) {
  const Stream& s = nest_->streams_[stream];
  if (inner_class(stream) == 1 || lanes_ == 1)
    e_->store(value, address(stream), s.dtype, lanes_, mask_);
  else
    e_->scatter(value, address(stream), lane_offsets(stream), s.dtype, lanes_, mask_);
}

void Nest::At::stream(std::size_t stream, mlir::Value value) {
  if (mask_) return store(stream, value);
  e_->stream(value, address(stream), nest_->streams_[stream].dtype, lanes_);
}

mlir::Value Nest::At::number(std::size_t stream) {
  mlir::Value at = bases_[stream];
  if (inner_class(stream) == 0) return e_->splat(at, lanes_);
  at = e_->add(at, e_->mul(j_, inner_[stream]));
  return e_->add(e_->splat(at, lanes_), e_->lane_offsets(inner_[stream], lanes_));
}

void Nest::emit(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param, mlir::Value begin,
                mlir::Value end, const Body& body) const {
  emit_rows(e, buffers, params, first_param, begin, end,
            [&](const Row& row) { row.each(row.from, row.to, body); });
}

void Nest::emit_together(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
                         mlir::Value begin, mlir::Value end, const RowsBody& body) const {
  around_rows(
      e, buffers, params, first_param, begin, end, rows_,
      [&](const Rows& rows, mlir::Value from, mlir::Value to) { along_rows(e, rows, from, to, body); });
}

void Nest::emit_rows(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
                     mlir::Value begin, mlir::Value end, const std::function<void(const Row&)>& body) const {
  around_rows(e, buffers, params, first_param, begin, end, 1,
              [&](const Rows& row, mlir::Value from, mlir::Value to) {
                body({from, to, [&](mlir::Value from, mlir::Value to, const Body& each) {
                        along_rows(e, row, from, to, [&](llvm::MutableArrayRef<At> at) { each(at.front()); });
                      }});
              });
}

void Nest::along_rows(Emit& e, Rows rows, mlir::Value from, mlir::Value to, const RowsBody& body) const {
  const auto take = [&](int lanes) {
    for (At& at : rows) {
      at.lanes_ = lanes;
      at.hoisted_.assign(streams_.size(), {});
      for (std::size_t s = 0; s < streams_.size(); ++s)
        if (streams_[s].operand >= 0 && at.inner_class(s) == 0 && streams_[s].read)
          at.hoisted_[s] = e.splat(e.load_scalar(at.bases_[s], streams_[s].dtype), lanes);
    }
  };
  const auto body_at = [&](mlir::Value j, mlir::Value mask) {
    for (At& at : rows) {
      at.j_ = j;
      at.mask_ = mask;
    }
    body(rows);
  };
  const auto whole_at = [&](mlir::Value j) { body_at(j, {}); };
  const auto squares_at = [&](mlir::Value j) {
    const auto side = static_cast<std::size_t>(lanes_);
    for (llvm::MutableArrayRef<At> left = rows; !left.empty(); left = left.drop_front(side)) {
      const auto square = left.take_front(side);
      for (At& at : square) at.j_ = j;
      cross(e, square);
      body(square);
      for (At& at : square) at.crossed_.clear();
    }
  };
  if (has_narrow_rows()) {
    take(lanes_);
    return body_at(from, e.mask_below(static_cast<int>(extents_.back()), lanes_));
  }
  if (rows.size() > 1 && takes_squares()) {
    take(lanes_);
    return e.loop(from, to, e.index(lanes_), squares_at);
  }
  const int wide = lanes_ * registers_;
  take(wide);
  if (wide == 1) return e.loop(from, to, e.index(1), whole_at);
  mlir::Value width = e.index(wide);
  mlir::Value whole = e.add(from, e.mul(e.div(e.sub(to, from), width), width));
  e.loop(from, whole, width, whole_at);
  const auto masked_at = [&](mlir::Value j) { body_at(j, e.mask_below(e.sub(to, j), lanes_)); };
  if (registers_ == 1) return e.when(e.less(whole, to), [&] { masked_at(whole); });
  take(lanes_);
  e.loop(whole, to, e.index(lanes_), masked_at);
}

void Nest::cross(Emit& e, llvm::MutableArrayRef<At> rows) const {
  for (At& at : rows) at.crossed_.assign(streams_.size(), {});
  for (auto [s, stream] : llvm::enumerate(streams_)) {
    if (!lies_across(stream)) continue;
    llvm::SmallVector<mlir::Value> columns;
    mlir::Value column = rows.front().address(s);
    for (int lane = 0; lane < lanes_;
         ++lane, column = e.element(column, rows.front().inner_[s], stream.dtype))
      columns.push_back(e.load(column, stream.dtype, lanes_));
    for (auto [at, row] : llvm::zip(rows, e.transpose(columns))) at.crossed_[s] = row;
  }
}

void Nest::around_rows(Emit& e, mlir::Value buffers, mlir::Value params, std::int64_t first_param,
                       mlir::Value begin, mlir::Value end, int rows,
                       llvm::function_ref<void(const Rows&, mlir::Value from, mlir::Value to)> body) const {
  auto rank = static_cast<std::int64_t>(this->rank());
  auto stream_param = [&](std::size_t s, std::int64_t i) {
    return e.param(params, first_param + rank + (rank + 1) * static_cast<std::int64_t>(s) + i);
  };
  auto stride = [&](std::size_t s, std::int64_t axis) { return stream_param(s, 1 + axis); };
  llvm::SmallVector<mlir::Value> operands;
  for (const Stream& s : streams_)
    operands.push_back(s.operand < 0 ? mlir::Value() : e.buffer(buffers, s.operand));

  using Offsets = llvm::SmallVector<mlir::Value>;  // of each stream
  auto row_at = [&](llvm::ArrayRef<mlir::Value> offsets) {
    At at;
    at.e_ = &e;
    at.nest_ = this;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      at.bases_.push_back(streams_[s].operand < 0 ? offsets[s]
                                                  : e.element(operands[s], offsets[s], streams_[s].dtype));
      at.inner_.push_back(stride(s, rank - 1));
    }
    return at;
  };
  const mlir::Value zero = e.index(0), extent = rank == 1 ? end : e.param(params, first_param + rank - 1);
  mlir::Value first = rank == 1 ? begin : zero, last = extent;  // of a row
  std::function<void(std::int64_t, llvm::ArrayRef<Offsets>)> level = [&](std::int64_t axis,
                                                                         llvm::ArrayRef<Offsets> offsets) {
    if (axis + 1 == rank) return body(Rows(llvm::map_range(offsets, row_at)), first, last);
    const mlir::Value from = axis == 0 ? begin : zero,
                      to = axis == 0 ? end : e.param(params, first_param + axis);
    Offsets strides;
    for (std::size_t s = 0; s < streams_.size(); ++s) strides.push_back(stride(s, axis));
    auto by = [&](
                  int count, mlir::Value from, mlir::Value to,
                  llvm::function_ref<void(mlir::Value)> before_row = [](mlir::Value) {}) {
      e.loop(from, to, e.index(count), [&](mlir::Value i) {
        llvm::SmallVector<Offsets, 2> inner(static_cast<std::size_t>(count));
        for (int r = 0; r < count; ++r) {
          const mlir::Value number = e.add(i, e.index(r));
          for (auto [s, stream] : llvm::enumerate(streams_))
            inner[static_cast<std::size_t>(r)].push_back(
                r > 0 && is_shared_by_rows(stream) ? inner[0][s]
                                                   : e.add(offsets.front()[s], e.mul(number, strides[s])));
        }
        before_row(i);
        level(axis + 1, inner);
      });
    };
    if (axis + 2 < rank || rows == 1) return by(1, from, to);
    const auto whole = [&](mlir::Value count, int step) {
      return e.mul(e.div(count, e.index(step)), e.index(step));
    };
    mlir::Value done = e.add(from, whole(e.sub(to, from), rows));
    if (!takes_squares()) {
      by(rows, from, done);
      return by(1, done, to);
    }
    // Squares, in as many rows as possible; what is left of those rows, and the other rows, one by one.
    last = whole(extent, lanes_);
    by(rows, from, done);
    if (rows > lanes_) {
      const mlir::Value next = e.add(done, whole(e.sub(to, done), lanes_));
      by(lanes_, done, next);
      done = next;
    }
    const mlir::Value squares = std::exchange(last, extent);
    by(1, from, to, [&](mlir::Value i) { first = e.select(e.less(i, done), squares, zero); });
    first = zero;
  };
  Offsets offsets;
  for (std::size_t s = 0; s < streams_.size(); ++s) offsets.push_back(stream_param(s, 0));
  level(0, offsets);
}

}  // namespace kiln::codegen
