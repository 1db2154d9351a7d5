// TensorPart: some of a source's tensors, under names of their own.
#pragma once

#include <ashlar/weights/tensor_source.hpp>
#include <initializer_list>

namespace ashlar::inline ASHLAR_ABI {

/// The tensors whose names begin with one of some prefixes, each with another one instead: one
/// model of a file that holds several.
class TensorPart final : public TensorSource {
 public:
  struct Prefix {
    std::string_view stored, here;
  };

  /// The first prefix that suits a name counts. Throws FileError if two tensors get one name.
  TensorPart(std::unique_ptr<TensorSource> whole, std::initializer_list<Prefix> prefixes)
      : TensorSource(whole->path()), whole_(std::move(whole)) {
    std::vector<TensorInfo> part;
    for (const TensorInfo& tensor : whole_->tensors())
      for (const Prefix& prefix : prefixes) {
        if (!tensor.name.starts_with(prefix.stored)) continue;
        part.push_back(tensor);
        part.back().name.replace(0, prefix.stored.size(), prefix.here);
        break;
      }
    set_tensors(std::move(part));
  }

 private:
  std::unique_ptr<TensorSource> whole_;  // owns the bytes
};

}  // namespace ashlar::inline ASHLAR_ABI
