// Scratch: the arena that ops take their temporary memory from.
#pragma once

#include <ashlar/core/buffer.hpp>
#include <ashlar/core/view.hpp>
#include <cstdint>
#include <vector>

namespace ashlar::inline ASHLAR_ABI {

/// A stack of memory. An op opens a frame, takes what it needs, and everything goes back when the
/// frame ends. Memory grows to what the largest call needs and stays, so that after the first call
/// nothing allocates. Not shared by threads: one thread opens frames, workers get parts of them.
class Scratch {
 public:
  Scratch() = default;
  /// Over memory of the caller's, a device's for example, which does not grow: what does not fit is
  /// a ValueError, and so is memory that does not begin at a multiple of 256 bytes.
  Scratch(void* memory, std::size_t bytes) : piece_(256), is_given_(true) {
    if (reinterpret_cast<std::uintptr_t>(memory) % piece_ != 0)
      fail<ValueError>("Scratch: the memory does not begin at a multiple of ", piece_);
    blocks_.push_back({memory, bytes});
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (!is_given_) clear();
  }

  class Frame {
   public:
    explicit Frame(Scratch& s) : scratch_(s), block_(s.block_), used_(s.used_), live_(s.live_) {
      ++s.depth_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    ~Frame() { scratch_.release(block_, used_, live_); }

    /// n uninitialised elements, 64-byte aligned.
    template <class T>
    T* get(index_t n) {
      return static_cast<T*>(scratch_.take(static_cast<std::size_t>(n) * sizeof(T)));
    }
    /// A contiguous uninitialised tensor.
    template <class T, int Rank>
    TensorView<T, Rank> tensor(const index_t (&extents)[Rank]) {
      index_t n = 1;
      for (index_t e : extents) n *= e;
      return TensorView<T, Rank>(get<T>(n), extents);
    }

   private:
    Scratch& scratch_;
    std::size_t block_, used_, live_;
  };

  /// Most bytes that were in use at once.
  std::size_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = live_; }

 private:
  struct Block {
    void* data;
    std::size_t size;
  };

  void* take(std::size_t bytes) {
    bytes = (bytes + piece_ - 1) / piece_ * piece_;
    if (bytes == 0) bytes = piece_;
    if (is_given_ && bytes > blocks_[0].size - used_)
      fail<ValueError>("Scratch: a workspace of at least ", used_ + bytes, " bytes is needed, got ",
                       blocks_[0].size);
    while (block_ < blocks_.size() && blocks_[block_].size - used_ < bytes) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      const std::size_t size = bytes > minimum ? bytes : minimum;
      blocks_.push_back({detail::allocate_aligned(size), size});
      used_ = 0;
    }
    void* p = static_cast<char*>(blocks_[block_].data) + used_;
    used_ += bytes;
    live_ += bytes;
    if (live_ > peak_) peak_ = live_;
    if (live_ > needed_) needed_ = live_;
    return p;
  }
  void release(std::size_t block, std::size_t used, std::size_t live) {
    block_ = block;
    used_ = used;
    live_ = live;
    if (--depth_ == 0 && blocks_.size() > 1) {  // one block from now on
      clear();  // keeps the list's room. A frame may end because memory ran out: never throw here
      if (void* data = detail::try_allocate_aligned(needed_)) blocks_.push_back({data, needed_});
    }
  }
  void clear() {
    for (Block& b : blocks_) detail::deallocate_aligned(b.data);
    blocks_.clear();
    block_ = used_ = 0;
  }

  static constexpr std::size_t minimum = std::size_t{64} << 10;
  std::size_t piece_ = detail::alignment;
  bool is_given_ = false;
  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0, live_ = 0, needed_ = 0, peak_ = 0;
  int depth_ = 0;
};

}  // namespace ashlar::inline ASHLAR_ABI
