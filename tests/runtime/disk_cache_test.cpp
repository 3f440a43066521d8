// The cache of compiled kernels: stored kernels come back, and nothing else does.
#include "runtime/disk_cache.h"

#include "temporary_folder.h"

#include <kiln/log.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace kiln;
namespace fs = std::filesystem;
using Mode = DiskCacheOptions::Mode;

namespace {

struct Folder : TemporaryFolder {
  DiskCacheOptions options(Mode mode = Mode::read_write, std::uint64_t max = 1 << 20) const {
    return {.folder = (path / "deep" / "kiln").string(), .mode = mode, .max_bytes = max};
  }
};

std::vector<std::byte> bytes(std::string_view text) {
  const auto* p = reinterpret_cast<const std::byte*>(text.data());
  return {p, p + text.size()};
}

fs::path only_file(const fs::path& folder) {
  fs::path found;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file()) {
      REQUIRE(found.empty());
      found = e.path();
    }
  REQUIRE_FALSE(found.empty());
  return found;
}

std::string read_file(const fs::path& p) {
  std::ifstream f(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
void write_file(const fs::path& p, const std::string& s) {
  std::ofstream(p, std::ios::binary | std::ios::trunc) << s;
}

void set_age(const fs::path& p, int seconds) {
  fs::last_write_time(p, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

const CacheKey key = cache_key("a kernel");
constexpr std::string_view stamp = "kiln 0.1 llvm 22 +avx2";

}  // namespace

TEST_CASE("what is stored comes back, in another object too", "[disk_cache]") {
  const Folder folder;
  DiskCache cache(folder.options());
  CHECK_FALSE(cache.load(key, stamp));
  cache.store(key, stamp, bytes("machine code"), "add relu");
  CHECK(cache.load(key, stamp) == bytes("machine code"));
  DiskCache again(folder.options());
  CHECK(again.load(key, stamp) == bytes("machine code"));
  CHECK_FALSE(again.load(cache_key("another"), stamp));

  again.store(key, stamp, bytes(""), "replaced");
  CHECK(cache.load(key, stamp) == bytes(""));

  const auto entries = cache.list();
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].key == key.hex());
  CHECK(entries[0].description == "replaced");
  CHECK(entries[0].stamp == stamp);
  CHECK(cache.verify().entries == 1);
  CHECK(cache.prune(0) > 0);
  CHECK(cache.list().empty());
}

TEST_CASE("folders and files are the user's alone", "[disk_cache]") {
  const Folder folder;
  const mode_t mask = ::umask(0);
  DiskCache cache(folder.options());
  cache.store(key, stamp, bytes("code"), "");
  ::umask(mask);
  for (const auto& e : fs::recursive_directory_iterator(folder.path)) {
    CAPTURE(e.path());
    CHECK((e.status().permissions() & (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none);
  }
}

TEST_CASE("a folder that others may write is not used", "[disk_cache]") {
  const Folder folder;
  fs::create_directories(folder.options().folder);
  ::chmod(folder.options().folder.c_str(), 0777);
  DiskCache cache(folder.options());
  CHECK_FALSE(cache.enabled());
  cache.store(key, stamp, bytes("code"), "");
  CHECK(fs::is_empty(folder.options().folder));
  CHECK_FALSE(cache.load(key, stamp));
  if (::geteuid() == 0) {  // only root can make a folder of somebody else
    ::chmod(folder.options().folder.c_str(), 0700);
    REQUIRE(::chown(folder.options().folder.c_str(), 12345, 12345) == 0);
    CHECK_FALSE(DiskCache(folder.options()).enabled());
  }
}

TEST_CASE("an administrator's folder and files are read, and another user's are not", "[disk_cache]") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root can give files to another user");
    return;
  }
  const unsigned owner = 65534, stranger = 65533;
  const Folder folder;
  DiskCacheOptions options = folder.options();
  DiskCache(options).store(key, stamp, bytes("machine code"), "");
  options.mode = Mode::read_only;
  options.trusted_owner = owner;
  const auto give_to = [&](unsigned user) {
    for (const auto& e : fs::recursive_directory_iterator(options.folder))
      REQUIRE(::chown(e.path().c_str(), user, static_cast<gid_t>(-1)) == 0);
  };
  REQUIRE(::chown(options.folder.c_str(), owner, static_cast<gid_t>(-1)) == 0);
  give_to(owner);
  CHECK(DiskCache(options).load(key, stamp) == bytes("machine code"));
  CHECK(DiskCache(options).verify().problems.empty());
  give_to(stranger);  // who could put code into it
  CHECK_FALSE(DiskCache(options).load(key, stamp));
}

TEST_CASE("a damaged or foreign entry is a miss, every way to damage it, and is removed", "[disk_cache]") {
  const Folder folder;
  DiskCache cache(folder.options());
  cache.store(key, stamp, bytes("some machine code"), "add");
  const fs::path file = only_file(folder.path);
  const std::string good = read_file(file);

  for (std::size_t n = 0; n < good.size(); ++n) {
    write_file(file, good.substr(0, n));
    CAPTURE(n);
    CHECK_FALSE(cache.load(key, stamp));
    CHECK_FALSE(fs::exists(file));
  }
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write_file(file, bad);
    CAPTURE(bit);
    CHECK_FALSE(cache.load(key, stamp));
  }
  write_file(file, good + "x");
  CHECK_FALSE(cache.load(key, stamp));

  write_file(file, good);
  CHECK_FALSE(cache.load(key, "kiln 0.2 llvm 22 +avx2"));  // compiled with something else
  CHECK_FALSE(fs::exists(file));

  write_file(file, good);
  const CacheKey other = cache_key("other");
  const fs::path other_file = fs::path(cache.path()) / other.hex().substr(0, 2) / (other.hex() + ".kernel");
  fs::create_directories(other_file.parent_path());
  fs::copy_file(file, other_file);
  CHECK_FALSE(cache.load(other, stamp));  // a good file in another's place
  CHECK(cache.load(key, stamp) == bytes("some machine code"));

  fs::remove(file);
  fs::create_directory(file);
  CHECK_FALSE(cache.load(key, stamp));
  fs::remove_all(file);
  fs::create_symlink("/dev/zero", file);
  CHECK_FALSE(cache.load(key, stamp));
  // A pipe, which nobody writes: opened as a file is, it would be waited for.
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK_THAT(cache.list().at(0).description, Catch::Contains("not a kernel") || Catch::Contains("too short"));
  CHECK_FALSE(cache.load(key, stamp));
  CHECK_FALSE(fs::exists(file));
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK(cache.verify().problems.size() == 1);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  cache.store(key, stamp, bytes("machine code"), "");
  CHECK(cache.load(key, stamp) == bytes("machine code"));
}

TEST_CASE("a bad entry is one warning, however many there are", "[disk_cache]") {
  const Folder folder;
  DiskCache cache(folder.options());
  std::vector<std::string> said;
  set_log_sink([&](LogLevel, std::string_view line) { said.emplace_back(line); });
  for (int i = 0; i < 3; ++i) {
    const CacheKey k = cache_key(std::to_string(i));
    cache.store(k, stamp, bytes("code"), "");
    cache.load(k, "another stamp");
  }
  set_log_sink({});
  CHECK(said.size() <= 1);  // none, when an earlier test of this process had it
}

TEST_CASE("verify names what is damaged", "[disk_cache]") {
  const Folder folder;
  DiskCache cache(folder.options());
  for (int i = 0; i < 5; ++i) cache.store(cache_key(std::to_string(i)), stamp, bytes("code"), "kernel");
  const fs::path file =
      fs::path(cache.path()) / cache_key("3").hex().substr(0, 2) / (cache_key("3").hex() + ".kernel");
  write_file(file, "rubbish");
  const auto entries = cache.list();
  CHECK(entries.size() == 5);
  CHECK(std::count_if(entries.begin(), entries.end(), [](const auto& e) { return e.stamp.empty(); }) == 1);
  const cache::Check check = cache.verify();
  CHECK(check.entries == 4);
  REQUIRE(check.problems.size() == 1);
  CHECK_THAT(check.problems[0], Catch::Contains(file.string()));
  CHECK(cache.verify().problems.empty());
}

TEST_CASE("the least recently used go first, and a hit is a use", "[disk_cache]") {
  const Folder folder;
  DiskCache cache(folder.options());
  const auto file_of = [&](const std::string& name) {
    const std::string hex = cache_key(name).hex();
    return fs::path(cache.path()) / hex.substr(0, 2) / (hex + ".kernel");
  };
  const std::vector<std::string> names{"a", "b", "c", "d", "e"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    cache.store(cache_key(names[i]), stamp, std::vector<std::byte>(1000), names[i]);
    set_age(file_of(names[i]), 100'000 - static_cast<int>(i) * 1000);
  }
  CHECK(cache.list().front().description == "a");
  CHECK(cache.load(cache_key("a"), stamp));
  const std::uint64_t one = fs::file_size(file_of("a"));
  CHECK(cache.prune(3 * one) == 2 * one);
  CHECK(fs::exists(file_of("a")));
  CHECK_FALSE(fs::exists(file_of("b")));
  CHECK_FALSE(fs::exists(file_of("c")));
  CHECK(fs::exists(file_of("d")));
}

TEST_CASE("the cache keeps to its size by itself", "[disk_cache]") {
  const Folder folder;
  DiskCache cache(folder.options(Mode::read_write, 10'000));
  for (int i = 0; i < 50; ++i)
    cache.store(cache_key(std::to_string(i)), stamp, std::vector<std::byte>(1000), "");
  std::uint64_t total = 0;
  for (const auto& e : cache.list()) total += e.bytes;
  CHECK(total <= 10'000);
  CHECK(total >= 5'000);
  cache.store(cache_key("large"), stamp, std::vector<std::byte>(20'000), "");
  CHECK_FALSE(cache.load(cache_key("large"), stamp));
}

TEST_CASE("a read-only cache is read and left alone", "[disk_cache]") {
  const Folder folder;
  DiskCache(folder.options()).store(key, stamp, bytes("code"), "");
  const fs::path file = only_file(folder.path);
  DiskCache cache(folder.options(Mode::read_only));
  CHECK(cache.load(key, stamp) == bytes("code"));
  cache.store(cache_key("new"), stamp, bytes("code"), "");
  CHECK(cache.prune(0) == 0);
  write_file(file, "rubbish");
  CHECK_FALSE(cache.load(key, stamp));
  CHECK(cache.verify().problems.size() == 1);
  CHECK(only_file(folder.path) == file);

  const Folder empty;
  DiskCache none(empty.options(Mode::read_only));
  CHECK_FALSE(none.load(key, stamp));
  CHECK(fs::is_empty(empty.path));
}

TEST_CASE("a folder that cannot be written costs nothing but time", "[disk_cache]") {
  const Folder folder;
  write_file(folder.path / "deep", "a file where a folder should be");
  DiskCache cache(folder.options());
  CHECK_FALSE(cache.enabled());
  cache.store(key, stamp, bytes("code"), "");
  CHECK_FALSE(cache.load(key, stamp));
  CHECK(cache.list().empty());
}

TEST_CASE("threads and processes race for one key", "[disk_cache]") {
  const Folder folder;
  const auto race = [&](char fill) {
    DiskCache cache(folder.options());
    for (int i = 0; i < 200; ++i) {
      cache.store(key, stamp, std::vector<std::byte>(5000, std::byte(fill)), "");
      const auto got = cache.load(key, stamp);
      if (!got || got->size() != 5000) return false;
      for (std::byte b : *got)
        if (b != got->front()) return false;
    }
    return true;
  };
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(race('c') ? 0 : 1);
  std::atomic<int> wrong{0};
  std::thread other([&] { wrong += race('t') ? 0 : 1; });
  wrong += race('p') ? 0 : 1;
  other.join();
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(wrong == 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  only_file(folder.path);  // no temporary file is left
}

TEST_CASE("the environment says where the cache is", "[disk_cache]") {
  const auto with = [](std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const char* name : {"KILN_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "KILN_CACHE", "KILN_CACHE_MAX_SIZE"})
      ::unsetenv(name);
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    return DiskCacheOptions::from_environment();
  };
  struct Restore {
    std::vector<std::pair<std::string, std::string>> old;
    Restore() {
      for (const char* name :
           {"KILN_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "KILN_CACHE", "KILN_CACHE_MAX_SIZE"})
        if (const char* v = std::getenv(name)) old.emplace_back(name, v);
    }
    ~Restore() {
      for (const auto& [name, value] : old) ::setenv(name.c_str(), value.c_str(), 1);
    }
  } restore;
  CHECK(with({{"HOME", "/h"}}).folder == "/h/.cache/kiln");
  CHECK(with({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).folder == "/x/kiln");
  CHECK(with({{"HOME", "/h"}, {"XDG_CACHE_HOME", "x"}}).folder == "/h/.cache/kiln");
  CHECK(with({{"HOME", "/h"}, {"KILN_CACHE_DIR", "/k"}}).folder == "/k");
  CHECK(with({}).folder.empty());
  CHECK_FALSE(DiskCache(with({})).enabled());
  CHECK(with({{"HOME", "/h"}, {"KILN_CACHE", "off"}}).folder.empty());
  CHECK(with({{"HOME", "/h"}, {"KILN_CACHE", "ro"}}).mode == Mode::read_only);
  CHECK(with({{"KILN_CACHE_MAX_SIZE", "5M"}}).max_bytes == 5 << 20);
  CHECK(with({}).max_bytes == 1 << 30);
}
