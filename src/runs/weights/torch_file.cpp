#include "runs/weights/torch_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "runs/weights/pickle.h"
#include "runs/weights/stored_zip.h"

namespace trainyard::runs {
namespace {

constexpr std::array<uint8_t, 4> kZipMagic = {'P', 'K', 3, 4};
// A pickle of the number 0x1950a86a20f9469cfc6c, behind its protocol.
constexpr std::array<uint8_t, 13> kLegacyMagic = {0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9,
                                                  0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};
constexpr int64_t kLegacyProtocol = 1001;
constexpr int kDeepest = 32;
constexpr int64_t kMostEntries = 1'000'000;
// Tensors may share a storage; a file that shares one again and again is no network.
constexpr int64_t kMostSharing = 8;
constexpr size_t kLongestNote = 200;

template <size_t count>
bool begins_with(std::span<const std::byte> bytes, const std::array<uint8_t, count>& magic) {
  return bytes.size() >= count && std::memcmp(bytes.data(), magic.data(), count) == 0;
}

struct StoragePlace {
  const std::byte* data = nullptr;
  int64_t bytes = 0;
};

class TorchWeights : public WeightsFile {
 public:
  TorchWeights(const std::filesystem::path& path, std::shared_ptr<const MappedFile> mapping)
      : path_(path.string()), mapping_(std::move(mapping)) {}

  Tensor tensor(size_t index) const override;

 protected:
  // The bytes of a storage.
  virtual StoragePlace place(const PickleValue& storage) const = 0;

  // Fills tensors() and notes() from what the file holds.
  void list(const PickleValue& root) {
    TY_REQUIRE(root.kind == PickleValue::Kind::kDict || root.kind == PickleValue::Kind::kList ||
                   root.kind == PickleValue::Kind::kTensor,
               "{}: the file holds {}, expected tensors by name", path_, kind_text(root.kind));
    walk(root, "", 0);
  }

  std::string path_;
  std::shared_ptr<const MappedFile> mapping_;

 private:
  void walk(const PickleValue& value, const std::string& name, int depth);
  void add_tensor(const PickleValue& value, const std::string& name);
  void add_note(const PickleValue& value, const std::string& name);

  std::vector<const PickleValue*> values_;  // of tensors()
  std::set<std::string, std::less<>> names_;
  int64_t entries_ = 0;
  int64_t total_bytes_ = 0;
};

void TorchWeights::add_note(const PickleValue& value, const std::string& name) {
  using Kind = PickleValue::Kind;
  std::string text = "None";
  if (value.kind == Kind::kBool) text = value.integer != 0 ? "True" : "False";
  if (value.kind == Kind::kInt) text = std::to_string(value.integer);
  if (value.kind == Kind::kFloat) text = fmt::format("{}", value.number);
  if (value.kind == Kind::kText) text = value.text.substr(0, kLongestNote);
  notes_.push_back({name, text});
}

void TorchWeights::add_tensor(const PickleValue& value, const std::string& name) {
  TensorType type = {value.dtype, Shape(value.shape)};
  const int64_t elements = type.shape.num_elements();
  const int64_t stored = value.storage->integer;
  // Strides of zero would make much out of little.
  TY_REQUIRE(elements <= stored, "{}: tensor '{}' is {} of {} elements, but its storage has {}",
             path_, name, type.to_string(), elements, stored);
  int64_t last = value.integer;
  for (size_t i = 0; i < value.shape.size() && elements > 0; ++i) {
    checked_add(last, checked_product({value.shape[i] - 1, value.strides[i]}));
  }
  TY_REQUIRE(elements == 0 || last < stored,
             "{}: tensor '{}' ends at element {} of a storage of {}", path_, name, last, stored);
  checked_add(total_bytes_, type.num_bytes());
  TY_REQUIRE(total_bytes_ / kMostSharing <= static_cast<int64_t>(mapping_->bytes().size()),
             "{}: its tensors share storages so often that they are {} times as large as the file",
             path_, kMostSharing);
  tensors_.push_back({name, std::move(type)});
  values_.push_back(&value);
}

void TorchWeights::walk(const PickleValue& value, const std::string& name, int depth) {
  using Kind = PickleValue::Kind;
  TY_REQUIRE(depth <= kDeepest, "{}: '{}' lies more than {} levels deep", path_, name, kDeepest);
  TY_REQUIRE(++entries_ <= kMostEntries, "{}: more than {} entries", path_, kMostEntries);
  const auto inner = [&](const std::string& key) { return name.empty() ? key : name + "." + key; };
  if (value.kind == Kind::kDict) {
    for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
      const PickleValue& key = *value.items[i];
      TY_REQUIRE(key.kind == Kind::kText || key.kind == Kind::kInt,
                 "{}: a key in '{}' is {}, expected a text or a number", path_, name,
                 kind_text(key.kind));
      walk(*value.items[i + 1],
           inner(key.kind == Kind::kText ? key.text : std::to_string(key.integer)), depth + 1);
    }
    return;
  }
  if (value.kind == Kind::kList) {
    for (size_t i = 0; i < value.items.size(); ++i) {
      walk(*value.items[i], inner(std::to_string(i)), depth + 1);
    }
    return;
  }
  TY_REQUIRE(value.kind != Kind::kStorage && value.kind != Kind::kName,
             "{}: '{}' is {}, expected a tensor, a number or a text", path_, name,
             kind_text(value.kind));
  TY_REQUIRE(names_.insert(name).second, "{}: two entries are named '{}'", path_, name);
  if (value.kind == Kind::kTensor) {
    add_tensor(value, name);
  } else {
    add_note(value, name);
  }
}

Tensor TorchWeights::tensor(size_t index) const {
  const PickleValue& value = *values_[index];
  const TensorType& type = tensors_[index].type;
  const int64_t size = dtype_size(type.dtype);
  const StoragePlace storage = place(*value.storage);
  TY_REQUIRE(storage.bytes >= checked_product({value.storage->integer, size}),
             "{}: the storage of '{}' has {} bytes, expected {} elements of {}", path_,
             tensors_[index].name, storage.bytes, value.storage->integer, dtype_name(type.dtype));
  Tensor copy(type);
  if (type.num_bytes() == 0) return copy;
  if (value.strides == type.shape.strides()) {
    std::memcpy(copy.data(), storage.data + value.integer * size,
                static_cast<size_t>(type.num_bytes()));
  } else {
    // The file may have put it at any byte.
    Tensor aligned(type.dtype, {value.storage->integer});
    std::memcpy(aligned.data(), storage.data, static_cast<size_t>(aligned.num_bytes()));
    copy_strided(value.shape, size, static_cast<std::byte*>(aligned.data()) + value.integer * size,
                 value.strides, copy.data(), type.shape.strides());
  }
  if (type.dtype == DType::kBool) {
    for (const auto* bytes = static_cast<const uint8_t*>(copy.data());
         const uint8_t byte : std::span(bytes, static_cast<size_t>(type.num_bytes()))) {
      TY_REQUIRE(byte <= 1, "{}: {} in the bool tensor '{}'", path_, byte, tensors_[index].name);
    }
  }
  return copy;
}

class ZipWeights final : public TorchWeights {
 public:
  ZipWeights(const std::filesystem::path& path, std::shared_ptr<const MappedFile> mapping)
      : TorchWeights(path, std::move(mapping)), zip_(mapping_->bytes(), path_) {
    constexpr std::string_view kPickle = "/data.pkl";
    for (const auto& [name, record] : zip_.records()) {
      if (name.ends_with(kPickle)) folder_ = name.substr(0, name.size() - kPickle.size());
      TY_REQUIRE(!name.ends_with("/constants.pkl"),
                 "{}: a TorchScript program, which holds code; save its weights alone: "
                 "torch.save(module.state_dict(), FILE)",
                 path_);
    }
    TY_REQUIRE(folder_.has_value(), "{}: a zip file without data.pkl was not written by torch.save",
               path_);
    if (zip_.records().contains(*folder_ + "/byteorder")) {
      const auto order = zip_.read(*folder_ + "/byteorder").bytes;
      TY_REQUIRE(order.empty() || order.front() == std::byte{'l'},
                 "{}: written on a big-endian machine, which is not read", path_);
    }
    const StoredZip::Content content = zip_.read(*folder_ + std::string(kPickle));
    pickle_.emplace(content.bytes, path_, content.begin);
    list(pickle_->next());
  }

  std::string_view format() const override { return "PyTorch (zip)"; }

 private:
  StoragePlace place(const PickleValue& storage) const override {
    const auto content = zip_.read(*folder_ + "/data/" + storage.text).bytes;
    return {content.data(), static_cast<int64_t>(content.size())};
  }

  StoredZip zip_;
  std::optional<std::string> folder_;
  std::optional<Pickle> pickle_;
};

class LegacyWeights final : public TorchWeights {
 public:
  LegacyWeights(const std::filesystem::path& path, std::shared_ptr<const MappedFile> mapping)
      : TorchWeights(path, std::move(mapping)),
        pickle_(mapping_->bytes().subspan(kTorchMagicBytes), path_, kTorchMagicBytes) {
    const PickleValue& protocol = pickle_.next();
    TY_REQUIRE(protocol.kind == PickleValue::Kind::kInt && protocol.integer == kLegacyProtocol,
               "{}: byte {}: expected protocol {} of torch.save", path_, kTorchMagicBytes,
               kLegacyProtocol);
    require_little_endian(pickle_.next());
    const PickleValue& root = pickle_.next();
    list(root);
    const PickleValue& keys = pickle_.next();
    TY_REQUIRE(keys.kind == PickleValue::Kind::kList,
               "{}: expected the list of storages behind the tensors", path_);
    int64_t at = static_cast<int64_t>(kTorchMagicBytes + pickle_.position());
    for (const PickleValue* key : keys.items) at = add_storage(key->text, at);
  }

  std::string_view format() const override { return "PyTorch (before 1.6)"; }

 private:
  void require_little_endian(const PickleValue& system) const {
    for (size_t i = 0; i + 1 < system.items.size(); i += 2) {
      TY_REQUIRE(system.items[i]->text != "little_endian" || system.items[i + 1]->integer != 0,
                 "{}: written on a big-endian machine, which is not read", path_);
    }
  }

  // A number of elements and their bytes; returns what follows.
  int64_t add_storage(const std::string& key, int64_t at) {
    const auto size = static_cast<int64_t>(mapping_->bytes().size());
    const auto dtype = pickle_.dtype_of_storage(key);
    TY_REQUIRE(dtype.has_value(), "{}: storage '{}' belongs to no tensor", path_, key);
    int64_t elements = 0;
    TY_REQUIRE(size - at >= static_cast<int64_t>(sizeof elements),
               "{}: byte {}: the file ends before storage '{}'; it is cut short", path_, at, key);
    std::memcpy(&elements, mapping_->bytes().data() + at, sizeof elements);
    at += static_cast<int64_t>(sizeof elements);
    const int64_t width = dtype_size(*dtype);
    TY_REQUIRE(elements >= 0 && elements <= (size - at) / width,
               "{}: byte {}: a storage of {} elements ends outside the file; it is cut short",
               path_, at, elements);
    places_[key] = {mapping_->bytes().data() + at, elements * width};
    return at + elements * width;
  }

  StoragePlace place(const PickleValue& storage) const override {
    const auto found = places_.find(storage.text);
    TY_REQUIRE(found != places_.end(), "{}: storage '{}' is not in the file", path_, storage.text);
    return found->second;
  }

  Pickle pickle_;
  std::map<std::string, StoragePlace, std::less<>> places_;
};

}  // namespace

bool is_torch_file(std::span<const std::byte> beginning) {
  if (begins_with(beginning, kZipMagic)) return true;
  return beginning.size() >= kTorchMagicBytes && beginning[0] == std::byte{0x80} &&
         begins_with(beginning.subspan(kTorchMagicBytes - kLegacyMagic.size()), kLegacyMagic);
}

std::unique_ptr<WeightsFile> open_torch_file(const std::filesystem::path& path) {
  auto mapping = std::make_shared<const MappedFile>(path);
  if (begins_with(mapping->bytes(), kZipMagic)) {
    return std::make_unique<ZipWeights>(path, std::move(mapping));
  }
  return std::make_unique<LegacyWeights>(path, std::move(mapping));
}

}  // namespace trainyard::runs
