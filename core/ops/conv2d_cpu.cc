// Convolution through oneDNN. The batch is cut into fixed chunks of images;
// each is one single-threaded oneDNN call inside our thread pool. Chunks have
// at most two sizes, so at most two primitives exist per call; oneDNN's own
// primitive cache keeps their code from call to call.
//
// oneDNN's direct kernels take packed NHWC only. A row-strided operand is
// therefore copied, one chunk at a time, into packed scratch of the thread that
// works on the chunk (inputs before, outputs after).

#include "core/ops/conv2d_cpu.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "core/cpu/chunks.h"
#include "core/cpu/onednn.h"
#include "core/cpu/rows.h"
#include "core/cpu/workspace.h"
#include "core/ops/checks.h"

namespace densenet {
namespace {

using dnnl::algorithm;
using dnnl::engine;
using dnnl::memory;
using dnnl::stream;
using Tag = memory::format_tag;

constexpr int64_t kMaxImageChunks = 16;
// Partial filter gradients take at most this much, or one chunk.
constexpr int64_t kMaxPartialBytes = int64_t{64} << 20;

memory::desc Desc(const memory::dims& dims, Tag tag) {
  return memory::desc(dims, memory::data_type::f32, tag);
}

memory::desc XDesc(const Conv2dProblem& p, int64_t images) {
  return Desc({images, p.c, p.h, p.w}, Tag::nhwc);
}

memory::desc YDesc(const Conv2dProblem& p, int64_t images) {
  return Desc({images, p.k, p.p, p.q}, Tag::nhwc);
}

memory::desc FilterDesc(const Conv2dProblem& p, Tag tag) {
  return Desc({p.k, p.c, p.r, p.s}, tag);
}

memory::dims Strides(const Conv2dProblem& p) {
  return {p.stride_h, p.stride_w};
}
memory::dims Before(const Conv2dProblem& p) { return {p.top, p.left}; }
memory::dims After(const Conv2dProblem& p) { return {p.bottom, p.right}; }

dnnl::convolution_forward::primitive_desc ForwardDesc(
    const Conv2dProblem& p, int64_t images, const memory::desc& filter,
    const engine& cpu) {
  return {{dnnl::prop_kind::forward_training, algorithm::convolution_direct,
           XDesc(p, images), filter, YDesc(p, images), Strides(p), Before(p),
           After(p)},
          UserScratchpad(),
          cpu};
}

dnnl::convolution_backward_data::primitive_desc DataDesc(
    const Conv2dProblem& p, int64_t images, const memory::desc& filter,
    const engine& cpu) {
  return {{algorithm::convolution_direct, XDesc(p, images), filter,
           YDesc(p, images), Strides(p), Before(p), After(p)},
          UserScratchpad(),
          cpu,
          ForwardDesc(p, images, FilterDesc(p, Tag::any), cpu)};
}

dnnl::convolution_backward_weights::primitive_desc FilterGradientDesc(
    const Conv2dProblem& p, int64_t images, const memory::desc& filter,
    const engine& cpu) {
  return {{algorithm::convolution_direct, XDesc(p, images), filter,
           YDesc(p, images), Strides(p), Before(p), After(p)},
          UserScratchpad(),
          cpu,
          ForwardDesc(p, images, FilterDesc(p, Tag::any), cpu)};
}

enum class Direction { kForward, kData, kFilter };

// A primitive for chunks of `images` images.
struct ChunkPrimitive {
  int64_t images = 0;
  memory::desc filter;  // the layout the primitive works in
  memory::desc scratchpad;
  dnnl::primitive primitive;
};

ChunkPrimitive MakePrimitive(Direction direction, const Conv2dProblem& p,
                             int64_t images, const memory::desc& filter,
                             const engine& cpu) {
  switch (direction) {
    case Direction::kForward: {
      const auto pd = ForwardDesc(p, images, filter, cpu);
      return {images, pd.weights_desc(), pd.scratchpad_desc(),
              dnnl::convolution_forward(pd)};
    }
    case Direction::kData: {
      const auto pd = DataDesc(p, images, filter, cpu);
      return {images, pd.weights_desc(), pd.scratchpad_desc(),
              dnnl::convolution_backward_data(pd)};
    }
    case Direction::kFilter:
      break;
  }
  const auto pd = FilterGradientDesc(p, images, filter, cpu);
  return {images, pd.diff_weights_desc(), pd.scratchpad_desc(),
          dnnl::convolution_backward_weights(pd)};
}

int64_t Floats(const memory::desc& desc) {
  return (static_cast<int64_t>(desc.get_size()) +
          static_cast<int64_t>(sizeof(float)) - 1) /
         static_cast<int64_t>(sizeof(float));
}

// Everything about one call but the pointers to its tensors.
class Conv2dCall {
 public:
  // Throws dnnl::error. `input`: what is read per image besides the filter,
  // x or dy; `output`: y or dx; for the filter gradient the two inputs.
  Conv2dCall(Direction direction, const Conv2dProblem& problem, bool x_packed,
             bool y_packed, int threads)
      : problem_(problem),
        user_filter_(FilterDesc(problem, Tag::hwio)),
        chunks_(problem.n, 1, MaxChunks(direction, problem)),
        slots_(std::min<int64_t>(threads, chunks_.count())),
        x_packed_(x_packed),
        y_packed_(y_packed) {
    const int64_t largest = chunks_.max_size();
    primitives_[0] = MakePrimitive(direction, problem, largest,
                                   FilterDesc(problem, Tag::any), cpu_);
    // The last chunk is the smallest; it uses the same filter layout.
    const int64_t smallest = chunks_.chunk(chunks_.count() - 1).size();
    primitives_[1] =
        smallest == largest
            ? primitives_[0]
            : MakePrimitive(direction, problem, smallest, filter(), cpu_);
    const bool to_user = direction == Direction::kFilter;
    reorder_ = dnnl::reorder::primitive_desc(
        cpu_, to_user ? filter() : user_filter_, cpu_,
        to_user ? user_filter_ : filter(), UserScratchpad());
  }

  const FixedChunks& chunks() const { return chunks_; }
  const memory::desc& filter() const { return primitives_[0].filter; }
  bool filter_is_users() const { return filter() == user_filter_; }

  // Scratch of the thread, or of the chunk if there are fewer of those.
  int64_t slots() const { return slots_; }
  int64_t SlotOf(int64_t index, int thread) const {
    return slots_ < chunks_.count() ? thread : index;
  }
  int64_t x_floats() const {
    return x_packed_
               ? 0
               : chunks_.max_size() * problem_.h * problem_.w * problem_.c;
  }
  int64_t y_floats() const {
    return y_packed_
               ? 0
               : chunks_.max_size() * problem_.p * problem_.q * problem_.k;
  }
  int64_t scratchpad_floats() const {
    return std::max(Floats(primitives_[0].scratchpad),
                    Floats(primitives_[1].scratchpad));
  }
  int64_t reorder_floats() const { return Floats(reorder_.scratchpad_desc()); }

  const ChunkPrimitive& primitive(const Chunk& chunk) const {
    return primitives_[chunk.size() == primitives_[0].images ? 0 : 1];
  }
  memory Memory(const memory::desc& desc, const float* data) const {
    return memory(desc, cpu_, const_cast<float*>(data));  // read-only use
  }
  memory XMemory(const Chunk& chunk, const float* data) const {
    return Memory(XDesc(problem_, chunk.size()), data);
  }
  memory YMemory(const Chunk& chunk, const float* data) const {
    return Memory(YDesc(problem_, chunk.size()), data);
  }
  const engine& cpu() const { return cpu_; }

  // The filter from one layout into the other.
  void Reorder(const float* from, float* to, float* scratch) const {
    stream s(cpu_);
    dnnl::reorder(reorder_).execute(
        s,
        {{DNNL_ARG_FROM, Memory(reorder_.src_desc(), from)},
         {DNNL_ARG_TO, Memory(reorder_.dst_desc(), to)},
         {DNNL_ARG_SCRATCHPAD, Memory(reorder_.scratchpad_desc(), scratch)}});
    s.wait();
  }

 private:
  static int64_t MaxChunks(Direction direction, const Conv2dProblem& p) {
    if (direction != Direction::kFilter) return kMaxImageChunks;
    const int64_t bytes =
        p.r * p.s * p.c * p.k * static_cast<int64_t>(sizeof(float));
    return std::clamp<int64_t>(kMaxPartialBytes / bytes, 1, kMaxImageChunks);
  }

  engine cpu_{engine::kind::cpu, 0};
  Conv2dProblem problem_;
  memory::desc user_filter_;
  FixedChunks chunks_;
  int64_t slots_;
  bool x_packed_;
  bool y_packed_;
  std::array<ChunkPrimitive, 2> primitives_;
  dnnl::reorder::primitive_desc reorder_;
};

// The pieces of the workspace.
struct Scratch {
  float* filter;  // in the primitive's layout: the filter, or its
                  // gradient, one per chunk
  float* reorder;
  float* x;           // (slots, x_floats)
  float* y;           // (slots, y_floats)
  float* scratchpad;  // (slots, scratchpad_floats)

  Scratch(WorkspaceCutter& cutter, const Conv2dCall& call, int64_t filters) {
    filter = cutter.Take<float>(filters * Floats(call.filter()));
    reorder = cutter.Take<float>(call.reorder_floats());
    x = TakeSlots(cutter, call, call.x_floats());
    y = TakeSlots(cutter, call, call.y_floats());
    scratchpad = TakeSlots(cutter, call, call.scratchpad_floats());
  }
  // Slots are a whole number of cache lines apart.
  static int64_t SlotFloats(int64_t floats) { return (floats + 15) / 16 * 16; }
  static float* TakeSlots(WorkspaceCutter& cutter, const Conv2dCall& call,
                          int64_t floats) {
    return cutter.Take<float>(call.slots() * SlotFloats(floats));
  }
};

// The images [begin, end) of a row-strided (N, H, W, C) view.
ConstTensorView Images(ConstTensorView view, const Chunk& chunk) {
  return view.Slice(0, chunk.begin, chunk.end);
}

void CopyRows(const float* from, int64_t from_stride, float* to,
              int64_t to_stride, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride,
                static_cast<size_t>(width) * sizeof(float));
  }
}

// The chunk as packed images: where it lies, or copied to `scratch`.
const float* PackedInput(ConstTensorView view, const Chunk& chunk,
                         float* scratch) {
  const ConstTensorView images = Images(view, chunk);
  const float* const data = images.data<float>();
  if (view.IsPacked()) return data;
  CopyRows(data, view.row_stride(), scratch, view.dim(3), images.rows(),
           view.dim(3));
  return scratch;
}

// Runs fn(chunk, index, slot) in parallel, oneDNN single-threaded in each; the
// first failure, if any.
template <typename Fn>
Status ForEachChunk(std::string_view op, const Context& ctx,
                    const Conv2dCall& call, const Fn& fn) {
  std::mutex mutex;
  Status status;
  ParallelForChunks(ctx.threads(), call.chunks(),
                    [&](const Chunk& chunk, int64_t index, int thread) {
                      const SingleOpenMpThread single;
                      const Status mine = CatchOneDnn(op, [&]() -> Status {
                        fn(chunk, index, call.SlotOf(index, thread));
                        return OkStatus();
                      });
                      if (mine.ok()) return;
                      std::lock_guard<std::mutex> lock(mutex);
                      if (status.ok()) status = mine;
                    });
  return status;
}

StatusOr<Conv2dCall> MakeCall(std::string_view op, const Context& ctx,
                              Direction direction, const Conv2dProblem& problem,
                              ConstTensorView x, ConstTensorView y) {
  const SingleOpenMpThread single;
  return CatchOneDnn(op, [&]() -> StatusOr<Conv2dCall> {
    return Conv2dCall(direction, problem, x.IsPacked(), y.IsPacked(),
                      ctx.threads().threads());
  });
}

int64_t Bytes(const Conv2dCall& call, int64_t filters) {
  WorkspaceCutter cutter;
  Scratch(cutter, call, filters);
  return cutter.used_bytes();
}

// Copies of the filter in the primitive's layout for forward and data.
int64_t FilterCopies(const Conv2dCall& call) {
  return call.filter_is_users() ? 0 : 1;
}

constexpr char kForward[] = "Conv2dForward";
constexpr char kData[] = "Conv2dBackwardData";
constexpr char kFilter[] = "Conv2dBackwardFilter";

// Forward and data gradient: one activation and the filter in, the other
// activation out.
Status MapImages(std::string_view op, const Context& ctx, Direction direction,
                 const Conv2dProblem& problem, ConstTensorView in,
                 ConstTensorView w, TensorView out,
                 absl::Span<char> workspace) {
  const bool forward = direction == Direction::kForward;
  ASSIGN_OR_RETURN(const Conv2dCall call,
                   MakeCall(op, ctx, direction, problem, forward ? in : out,
                            forward ? out : in));
  RETURN_IF_ERROR(
      CheckWorkspace(op, workspace, Bytes(call, FilterCopies(call))));
  WorkspaceCutter cutter(workspace);
  const Scratch scratch(cutter, call, FilterCopies(call));
  const float* filter = w.data<float>();
  if (!call.filter_is_users()) {
    const SingleOpenMpThread single;
    RETURN_IF_ERROR(CatchOneDnn(op, [&]() -> Status {
      call.Reorder(filter, scratch.filter, scratch.reorder);
      return OkStatus();
    }));
    filter = scratch.filter;
  }
  const int64_t x_slot = Scratch::SlotFloats(call.x_floats());
  const int64_t y_slot = Scratch::SlotFloats(call.y_floats());
  const int64_t pad_slot = Scratch::SlotFloats(call.scratchpad_floats());
  const bool out_packed = out.IsPacked();
  return ForEachChunk(
      op, ctx, call, [&](const Chunk& chunk, int64_t, int64_t slot) {
        float* const x = scratch.x + slot * x_slot;
        float* const y = scratch.y + slot * y_slot;
        const float* const from = PackedInput(in, chunk, forward ? x : y);
        float* const target =
            out.Slice(0, chunk.begin, chunk.end).data<float>();
        float* const to = out_packed ? target : (forward ? y : x);
        const ChunkPrimitive& primitive = call.primitive(chunk);
        stream s(call.cpu());
        primitive.primitive.execute(
            s, {{forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_SRC,
                 call.XMemory(chunk, forward ? from : to)},
                {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST,
                 call.YMemory(chunk, forward ? to : from)},
                {DNNL_ARG_WEIGHTS, call.Memory(call.filter(), filter)},
                {DNNL_ARG_SCRATCHPAD,
                 call.Memory(primitive.scratchpad,
                             scratch.scratchpad + slot * pad_slot)}});
        s.wait();
        if (!out_packed) {
          const int64_t channels = out.dim(3);
          CopyRows(to, channels, target, out.row_stride(),
                   chunk.size() * out.dim(1) * out.dim(2), channels);
        }
      });
}

// partials[0] = the sum of all partials, in order.
void SumPartials(const Context& ctx, int64_t count, int64_t floats,
                 float* partials) {
  ForEachRow(ctx.threads(), /*packed=*/true, 1, floats,
             [=](int64_t, int64_t begin, int64_t elems) {
               float* const sum = partials + begin;
               for (int64_t i = 1; i < count; ++i) {
                 const float* const part = partials + i * floats + begin;
                 for (int64_t j = 0; j < elems; ++j) sum[j] += part[j];
               }
             });
}

}  // namespace

StatusOr<int64_t> Conv2dForwardWorkspaceBytesCpu(const Context& ctx,
                                                 const Conv2dProblem& problem,
                                                 ConstTensorView x,
                                                 ConstTensorView y) {
  ASSIGN_OR_RETURN(const Conv2dCall call,
                   MakeCall(kForward, ctx, Direction::kForward, problem, x, y));
  return Bytes(call, FilterCopies(call));
}

Status Conv2dForwardCpu(const Context& ctx, const Conv2dProblem& problem,
                        ConstTensorView x, ConstTensorView w, TensorView y,
                        absl::Span<char> workspace) {
  return MapImages(kForward, ctx, Direction::kForward, problem, x, w, y,
                   workspace);
}

StatusOr<int64_t> Conv2dBackwardDataWorkspaceBytesCpu(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView dy,
    ConstTensorView dx) {
  ASSIGN_OR_RETURN(const Conv2dCall call,
                   MakeCall(kData, ctx, Direction::kData, problem, dx, dy));
  return Bytes(call, FilterCopies(call));
}

Status Conv2dBackwardDataCpu(const Context& ctx, const Conv2dProblem& problem,
                             ConstTensorView dy, ConstTensorView w,
                             TensorView dx, absl::Span<char> workspace) {
  return MapImages(kData, ctx, Direction::kData, problem, dy, w, dx, workspace);
}

StatusOr<int64_t> Conv2dBackwardFilterWorkspaceBytesCpu(
    const Context& ctx, const Conv2dProblem& problem, ConstTensorView x,
    ConstTensorView dy) {
  ASSIGN_OR_RETURN(const Conv2dCall call,
                   MakeCall(kFilter, ctx, Direction::kFilter, problem, x, dy));
  return Bytes(call, call.chunks().count());
}

Status Conv2dBackwardFilterCpu(const Context& ctx, const Conv2dProblem& problem,
                               ConstTensorView x, ConstTensorView dy,
                               TensorView dw, absl::Span<char> workspace) {
  ASSIGN_OR_RETURN(const Conv2dCall call,
                   MakeCall(kFilter, ctx, Direction::kFilter, problem, x, dy));
  const int64_t count = call.chunks().count();
  RETURN_IF_ERROR(CheckWorkspace(kFilter, workspace, Bytes(call, count)));
  WorkspaceCutter cutter(workspace);
  const Scratch scratch(cutter, call, count);
  const int64_t floats = Floats(call.filter());
  const int64_t x_slot = Scratch::SlotFloats(call.x_floats());
  const int64_t y_slot = Scratch::SlotFloats(call.y_floats());
  const int64_t pad_slot = Scratch::SlotFloats(call.scratchpad_floats());
  RETURN_IF_ERROR(ForEachChunk(
      kFilter, ctx, call, [&](const Chunk& chunk, int64_t index, int64_t slot) {
        const float* const in =
            PackedInput(x, chunk, scratch.x + slot * x_slot);
        const float* const gradient =
            PackedInput(dy, chunk, scratch.y + slot * y_slot);
        const ChunkPrimitive& primitive = call.primitive(chunk);
        stream s(call.cpu());
        primitive.primitive.execute(
            s, {{DNNL_ARG_SRC, call.XMemory(chunk, in)},
                {DNNL_ARG_DIFF_DST, call.YMemory(chunk, gradient)},
                {DNNL_ARG_DIFF_WEIGHTS,
                 call.Memory(call.filter(), scratch.filter + index * floats)},
                {DNNL_ARG_SCRATCHPAD,
                 call.Memory(primitive.scratchpad,
                             scratch.scratchpad + slot * pad_slot)}});
        s.wait();
      }));
  SumPartials(ctx, count, floats, scratch.filter);
  const SingleOpenMpThread single;
  return CatchOneDnn(kFilter, [&]() -> Status {
    call.Reorder(scratch.filter, dw.data<float>(), scratch.reorder);
    return OkStatus();
  });
}

}  // namespace densenet
