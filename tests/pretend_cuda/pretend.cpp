// A CUDA device made of host memory, for a CPU-only build of PyTorch.
//
// Tensors are plain tensors with the device cuda:0 and the dispatch key CUDA; each operator without a CUDA kernel (all of
// them) comes to one boxed fallback, which checks devices, lends the memory to CPU tensors and calls the CPU's kernel.
// The allocator follows c10/cuda/CUDACachingAllocator.cpp: 512-byte rounding, small and large pool, best fit, splitting.
#include <torch/extension.h>
#include <torch/library.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/Allocator.h>
#include <cstdlib>
#include <map>
#include <set>

namespace {
using namespace c10;
using at::Tensor;

// ---------------------------------------------------------------- settings and counters
int g_devices = 1;
int g_workspace = 8519680;  // cuBLAS on devices below Hopper: 4096 KiB * 2 + 16 KiB * 8
bool g_is_t4 = true;
double g_noise = 0.0;  // relative noise on each product: another order of its sums
thread_local DeviceIndex t_device = 0;

// ---------------------------------------------------------------- the caching allocator
constexpr size_t kMin = 512, kSmall = 1048576, kSmallBuffer = 2097152, kLargeBuffer = 20971520, kMinLarge = 10485760,
                 kRound = 2097152;

struct Block {
  size_t size;
  bool small;
  uint64_t addr;
  Block* prev = nullptr;
  Block* next = nullptr;
  size_t requested = 0;
};
struct Order {
  bool operator()(const Block* a, const Block* b) const {
    return a->size != b->size ? a->size < b->size : a->addr < b->addr;
  }
};
struct Arena {
  std::mutex lock;
  std::set<Block*, Order> pools[2];
  uint64_t next_addr = 1ull << 40;
  int64_t allocated = 0, peak = 0, reserved = 0, reserved_peak = 0, requested = 0, requested_peak = 0;

  Block* take(size_t n) {
    std::lock_guard<std::mutex> guard(lock);
    size_t size = n < kMin ? kMin : kMin * ((n + kMin - 1) / kMin);
    bool small = size <= kSmall;
    auto& pool = pools[small];
    Block key{size, small, 0};
    auto found = pool.lower_bound(&key);
    Block* block;
    if (found != pool.end()) {
      block = *found;
      pool.erase(found);
    } else {
      size_t segment = small ? kSmallBuffer : size < kMinLarge ? kLargeBuffer : kRound * ((size + kRound - 1) / kRound);
      block = new Block{segment, small, next_addr};
      next_addr += segment + kRound;
      reserved += segment;
      reserved_peak = std::max(reserved_peak, reserved);
    }
    size_t rest = block->size - size;
    if (small ? rest >= kMin : rest > kSmall) {
      Block* tail = new Block{rest, small, block->addr + size, block, block->next};
      if (block->next) block->next->prev = tail;
      block->next = tail;
      block->size = size;
      pool.insert(tail);
    }
    allocated += block->size;
    block->requested = n;
    requested += n;
    peak = std::max(peak, allocated);
    requested_peak = std::max(requested_peak, requested);
    used.insert(block);
    return block;
  }
  void give(Block* block) {
    std::lock_guard<std::mutex> guard(lock);
    allocated -= block->size;
    requested -= block->requested;
    used.erase(block);
    auto& pool = pools[block->small];
    for (Block* side : {block->prev, block->next}) {
      if (!side || used.count(side)) continue;
      pool.erase(side);
      if (side == block->prev) {
        block->addr = side->addr;
        block->prev = side->prev;
        if (block->prev) block->prev->next = block;
      } else {
        block->next = side->next;
        if (block->next) block->next->prev = block;
      }
      block->size += side->size;
      delete side;
    }
    pool.insert(block);
  }
  void empty_cache() {
    std::lock_guard<std::mutex> guard(lock);
    for (auto& pool : pools)
      for (auto it = pool.begin(); it != pool.end();) {
        Block* b = *it;
        if (!b->prev && !b->next) {
          reserved -= b->size;
          it = pool.erase(it);
          delete b;
        } else
          ++it;
      }
  }
  std::set<Block*> used;
};
Arena& arena() {
  static Arena* a = new Arena;
  return *a;
}

struct Held {
  Block* block;
  DataPtr inner;  // the host memory
};
void release(void* ctx) {
  auto* held = static_cast<Held*>(ctx);
  if (held->block) arena().give(held->block);
  delete held;
}
DataPtr on_device(DataPtr inner, size_t n) {
  void* p = inner.get();
  auto* held = new Held{n ? arena().take(n) : nullptr, std::move(inner)};
  return DataPtr(p, held, &release, Device(kCUDA, 0));
}
struct PretendAllocator final : Allocator {
  DataPtr allocate(size_t n) override {
    return on_device(GetAllocator(kCPU)->allocate(n), n);
  }
  DeleterFnPtr raw_deleter() const override {
    return nullptr;
  }
  void copy_data(void* dst, const void* src, std::size_t n) const override {
    default_copy_data(dst, src, n);
  }
};
PretendAllocator g_allocator;

// ---------------------------------------------------------------- generator
struct PretendGenerator final : GeneratorImpl {
  at::Generator host;
  uint64_t seed_ = default_rng_seed_val;
  explicit PretendGenerator(DeviceIndex i)
      : GeneratorImpl(Device(kCUDA, i), DispatchKeySet(DispatchKey::CUDA)), host(at::detail::createCPUGenerator()) {
    set_current_seed(default_rng_seed_val);
  }
  void set_current_seed(uint64_t seed) override {
    seed_ = seed;
    host.set_current_seed(seed * 2654435761u + 12345);  // other numbers than the CPU's from the same seed
  }
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override {
    return 0;
  }
  uint64_t current_seed() const override {
    return seed_;
  }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return seed_;
  }
  void set_state(const TensorImpl& state) override {
    host.unsafeGetGeneratorImpl()->set_state(state);
  }
  intrusive_ptr<TensorImpl> get_state() const override {
    return host.unsafeGetGeneratorImpl()->get_state();
  }
  static DeviceType device_type() {
    return kCUDA;
  }
  GeneratorImpl* clone_impl() const override {
    auto* c = new PretendGenerator(device_.index());
    c->host = host.clone();
    return c;
  }
};
at::Generator& default_generator() {
  static auto* g = new at::Generator(at::make_generator<PretendGenerator>(0));
  return *g;
}
at::Generator& host_of(const at::Generator& g) {
  return static_cast<PretendGenerator*>(g.unsafeGetGeneratorImpl())->host;
}

// ---------------------------------------------------------------- guard and hooks
struct PretendGuard final : impl::DeviceGuardImplInterface {
  DeviceType type() const override { return kCUDA; }
  Device exchangeDevice(Device d) const override {
    Device old(kCUDA, t_device);
    t_device = d.index();
    return old;
  }
  Device getDevice() const override { return Device(kCUDA, t_device); }
  void setDevice(Device d) const override { t_device = d.index(); }
  void uncheckedSetDevice(Device d) const noexcept override { t_device = d.index(); }
  Stream stream(Device d) const { return Stream(Stream::DEFAULT, Device(kCUDA, d.index() < 0 ? t_device : d.index())); }
  Stream getStream(Device d) const override { return stream(d); }
  Stream getDefaultStream(Device d) const override { return stream(d); }
  Stream getStreamFromGlobalPool(Device d, bool) const override { return stream(d); }
  Stream getNewStream(Device d, int) const override { return stream(d); }
  Stream exchangeStream(Stream s) const override { return s; }
  void record(void** e, const Stream&, const DeviceIndex, const EventFlag) const override {
    *e = reinterpret_cast<void*>(1);
  }
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const DeviceIndex) const override {}
  double elapsedTime(void*, void*, const DeviceIndex) const override { return 1.0; }
  DeviceIndex deviceCount() const noexcept override { return static_cast<DeviceIndex>(g_devices); }
};
C10_REGISTER_GUARD_IMPL(CUDA, PretendGuard)
}  // namespace

namespace at {
struct PretendHooks final : CUDAHooksInterface {
  explicit PretendHooks(CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return g_devices > 0; }
  const Generator& getDefaultGenerator(DeviceIndex) const override { return default_generator(); }
  Generator getNewGenerator(DeviceIndex i) const override {
    static bool is_first = true;  // the Python side asks once, and gets the default one
    if (is_first) {
      is_first = false;
      return default_generator();
    }
    return make_generator<PretendGenerator>(i < 0 ? 0 : i);
  }
  Device getDeviceFromPtr(void*) const override { return Device(kCUDA, 0); }
  bool isPinnedPtr(const void*) const override { return false; }
  bool hasCUDA() const override { return true; }
  bool hasCUDART() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex current_device() const override { return t_device; }
  Allocator* getPinnedMemoryAllocator() const override { return GetAllocator(kCPU); }
  Allocator* getCUDADeviceAllocator() const override { return &g_allocator; }
  int getNumGPUs() const override { return g_devices; }
  DeviceIndex deviceCount() const override { return static_cast<DeviceIndex>(g_devices); }
  void setCurrentDevice(DeviceIndex d) const override { t_device = d; }
  DeviceIndex getCurrentDevice() const override { return t_device; }
  DeviceIndex exchangeDevice(DeviceIndex d) const override { std::swap(d, t_device); return d; }
  DeviceIndex maybeExchangeDevice(DeviceIndex d) const override { std::swap(d, t_device); return d; }
  void deviceSynchronize(DeviceIndex) const override {}
};
// the registry makes hooks by the name CUDAHooks
C10_REGISTER_TYPED_CLASS(CUDAHooksRegistry, "CUDAHooks", PretendHooks)
}  // namespace at

namespace {
// ---------------------------------------------------------------- lending memory to CPU tensors
struct Loan {
  std::map<StorageImpl*, std::pair<Storage, Storage>> storages;  // device's -> (device's, host's)
  std::map<StorageImpl*, StorageImpl*> back;                     // host's -> device's
  std::vector<std::pair<Tensor, Tensor>> tensors;                // (device's, host's)

  Tensor lend(const Tensor& t) {
    if (!t.defined() || !t.is_cuda()) return t;
    for (auto& pair : tensors)
      if (pair.first.is_same(t)) return pair.second;
    Storage own = t.storage();
    auto* key = own.unsafeGetStorageImpl();
    if (!storages.count(key)) {
      Storage host(Storage::use_byte_size_t(), own.nbytes(), DataPtr(const_cast<void*>(own.data()), Device(kCPU)),
                   GetAllocator(kCPU), true);
      back[host.unsafeGetStorageImpl()] = key;
      storages.emplace(key, std::make_pair(own, host));
    }
    Tensor made = at::detail::make_tensor<TensorImpl>(Storage(storages.at(key).second), DispatchKeySet(DispatchKey::CPU),
                                                      t.dtype());
    auto* impl = made.unsafeGetTensorImpl();
    impl->set_storage_offset(t.storage_offset());
    impl->set_sizes_and_strides(t.sizes(), t.strides());
    if (t.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
    if (t.is_conj()) made._set_conj(true);
    if (t.is_neg()) made._set_neg(true);
    tensors.emplace_back(t, made);
    return made;
  }

  // What a kernel has done to its arguments in addition to their values: other sizes, larger memory.
  void settle() {
    for (auto& [key, pair] : storages) {
      auto& [own, host] = pair;
      if (host.data() == own.data() && host.nbytes() == own.nbytes()) continue;
      size_t n = host.nbytes();
      auto* impl = own.unsafeGetStorageImpl();
      if (host.data() == own.data()) {
        impl->set_nbytes(n);
        continue;
      }
      DataPtr moved = host.set_data_ptr(DataPtr());
      impl->set_data_ptr_noswap(on_device(std::move(moved), n));
      impl->set_nbytes(n);
    }
    for (auto& [own, host] : tensors) {
      if (own.sizes() == host.sizes() && own.strides() == host.strides() && own.storage_offset() == host.storage_offset())
        continue;
      auto* impl = own.unsafeGetTensorImpl();
      impl->set_storage_offset(host.storage_offset());
      impl->set_sizes_and_strides(host.sizes(), host.strides());
    }
  }

  Tensor take_back(const Tensor& t) {
    if (!t.defined() || !t.device().is_cpu()) return t;
    for (auto& pair : tensors)
      if (pair.second.is_same(t)) return pair.first;
    Storage host = t.storage();
    auto known = back.find(host.unsafeGetStorageImpl());
    Storage own;
    if (known != back.end()) {
      own = storages.at(known->second).first;
    } else {
      auto cached = adopted.find(host.unsafeGetStorageImpl());
      if (cached != adopted.end()) {
        own = cached->second;
      } else {
        size_t n = host.nbytes();
        auto* key = host.unsafeGetStorageImpl();
        DataPtr inner = host.set_data_ptr(DataPtr(nullptr, Device(kCPU)));
        own = Storage(Storage::use_byte_size_t(), n, on_device(std::move(inner), n), &g_allocator, true);
        adopted.emplace(key, own);
      }
    }
    Tensor made = at::detail::make_tensor<TensorImpl>(std::move(own), DispatchKeySet(DispatchKey::CUDA), t.dtype());
    auto* impl = made.unsafeGetTensorImpl();
    impl->set_storage_offset(t.storage_offset());
    impl->set_sizes_and_strides(t.sizes(), t.strides());
    return made;
  }
  std::map<StorageImpl*, Storage> adopted;
};

const std::set<std::string> kIndexOnCpu = {"aten::index", "aten::index_put_", "aten::_index_put_impl_", "aten::index_put",
                                           "aten::_unsafe_index"};
const std::set<std::string> kProducts = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addmv",
                                         "aten::_addmm_activation", "aten::dot", "aten::vdot"};

struct Workspace {
  DataPtr memory;
  ~Workspace() { memory.release_context(); }
};
void ensure_workspace() {  // cuBLAS takes one for each thread's handle, through the caching allocator, and keeps it
  thread_local Workspace* w = nullptr;
  if (!w) w = new Workspace{g_allocator.allocate(g_workspace)};
}

// tf32 rounds the factors to 11 bits; noise of that size on the product is its effect on a check
bool is_tf32() {
  return at::globalContext().float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL) == at::Float32Precision::TF32;
}

void each_tensor(const IValue& v, const std::function<void(const Tensor&)>& f) {
  if (v.isTensor()) {
    f(v.toTensor());
  } else if (v.isList()) {
    for (const IValue& item : v.toListRef())
      if (item.isTensor()) f(item.toTensor());
  }
}

void fallback(const OperatorHandle& op, DispatchKeySet, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const std::string& name = schema.name();
  size_t n = schema.arguments().size();
  Loan loan;
  std::vector<IValue> args(stack->end() - n, stack->end());
  stack->erase(stack->end() - n, stack->end());

  for (size_t i = 0; i < n; i++)
    each_tensor(args[i], [&](const Tensor& t) {
      if (!t.defined() || t.is_cuda() || t.device().is_meta()) return;
      if (t.dim() == 0 && !kProducts.count(name)) return;
      if (kIndexOnCpu.count(name) && schema.arguments()[i].name() == "indices") return;
      std::string plain = name.substr(name.find("::") + 2);
      TORCH_CHECK(false, "Expected all tensors to be on the same device, but got ", schema.arguments()[i].name(), " is on ",
                  t.device(), ", different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_",
                  plain, ")");
    });
  if (kProducts.count(name)) ensure_workspace();

  bool has_generator = false;
  for (size_t i = 0; i < n; i++) {
    IValue& v = args[i];
    if (v.isTensor()) {
      v = loan.lend(v.toTensor());
    } else if (v.isTensorList()) {
      c10::List<Tensor> made;
      for (const Tensor& t : v.toTensorVector()) made.push_back(loan.lend(t));
      v = made;
    } else if (v.isOptionalTensorList()) {
      c10::List<std::optional<Tensor>> made;
      for (const std::optional<Tensor>& t : v.toOptionalTensorVector())
        made.push_back(t ? std::optional<Tensor>(loan.lend(*t)) : std::nullopt);
      v = made;
    } else if (v.isDevice() && v.toDevice().is_cuda()) {
      v = Device(kCPU);
    } else if (v.isGenerator()) {
      has_generator = true;
      if (v.toGenerator().device().is_cuda()) v = host_of(v.toGenerator());
    } else if (v.isNone() && schema.arguments()[i].name() == "generator") {
      has_generator = true;
      v = host_of(default_generator());
    }
  }
  // float16 in, float32 out: only CUDA's softmax has it
  bool is_softmax = name == "aten::_softmax" || name == "aten::_log_softmax";
  if (is_softmax && args[2].toBool()) {
    at::AutoDispatchBelowADInplaceOrView below;
    args[0] = args[0].toTensor().to(at::kFloat);
    args[2] = false;
  }
  bool is_softmax_backward = name == "aten::_softmax_backward_data" || name == "aten::_log_softmax_backward_data";
  if (is_softmax_backward && args[3].toScalarType() != args[0].toTensor().scalar_type()) {
    at::AutoDispatchBelowADInplaceOrView below;
    Tensor grad = args[0].toTensor(), output = args[1].toTensor();
    Tensor made = name == "aten::_softmax_backward_data"
        ? at::_softmax_backward_data(grad, output, args[2].toInt(), at::kFloat)
        : at::_log_softmax_backward_data(grad, output, args[2].toInt(), at::kFloat);
    made = made.to(args[3].toScalarType());
    if (n > 4) {
      args[4].toTensor().copy_(made);
      made = args[4].toTensor();
    }
    stack->push_back(loan.take_back(made));
    return;
  }
  torch::jit::Stack inner(args.begin(), args.end());
  {
    at::AutoDispatchBelowADInplaceOrView below;
    impl::ExcludeDispatchKeyGuard no_autocast(autocast_dispatch_keyset);
    bool is_random = op.hasSchema() && !has_generator &&
        std::find(op.getTags().begin(), op.getTags().end(), at::Tag::nondeterministic_seeded) != op.getTags().end();
    if (is_random) {
      at::Generator cpu = at::detail::getDefaultCPUGenerator();
      at::Generator& own = host_of(default_generator());
      Tensor kept = cpu.get_state();
      cpu.set_state(own.get_state());
      op.callBoxed(&inner);
      own.set_state(cpu.get_state());
      cpu.set_state(kept);
    } else {
      op.callBoxed(&inner);
    }
  }
  double noise = is_tf32() ? 0x1p-11 : g_noise;
  if (noise > 0 && kProducts.count(name)) {
    at::AutoDispatchBelowADInplaceOrView below;
    static auto* gen = new at::Generator(at::detail::createCPUGenerator(17));
    for (IValue& v : inner) {
      if (!v.isTensor() || !v.toTensor().is_floating_point()) continue;
      Tensor t = v.toTensor();
      double rel = t.scalar_type() == at::kHalf ? 0x1p-12 : t.scalar_type() == at::kBFloat16 ? 0x1p-9
          : t.scalar_type() == at::kDouble ? 1e-15 : noise;
      Tensor factor = at::randn(t.sizes(), *gen, at::dtype(at::kFloat)).mul_(rel).add_(1.0);
      t.copy_(t.to(at::kFloat).mul(factor));
    }
  }
  loan.settle();
  for (IValue& v : inner) {
    if (v.isTensor()) {
      v = loan.take_back(v.toTensor());
    } else if (v.isTensorList()) {
      c10::List<Tensor> made;
      for (const Tensor& t : v.toTensorVector()) made.push_back(loan.take_back(t));
      v = made;
    }
    stack->push_back(v);
  }
}

// ---------------------------------------------------------------- operators with a kernel of their own
Tensor empty_memory_format(IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                           std::optional<Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &g_allocator, DispatchKeySet(DispatchKey::CUDA), dtype_or_default(dtype), format);
}
Tensor empty_strided(IntArrayRef size, IntArrayRef stride, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                     std::optional<Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &g_allocator, DispatchKeySet(DispatchKey::CUDA),
                                           dtype_or_default(dtype));
}
Tensor& copy_(Tensor& self, const Tensor& src, bool non_blocking) {
  Loan loan;
  at::AutoDispatchBelowADInplaceOrView below;
  impl::ExcludeDispatchKeyGuard no_autocast(autocast_dispatch_keyset);
  Tensor to = loan.lend(self), from = loan.lend(src);
  to.copy_(from, non_blocking);
  return self;
}
Tensor& set_storage(Tensor& self, Storage source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  auto* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_storage_offset(offset);
  if (stride.data() && stride.size() == size.size())
    impl->set_sizes_and_strides(size, stride);
  else
    impl->set_sizes_contiguous(size);
  return self;
}
Tensor& set_storage_alone(Tensor& self, Storage source) {
  int64_t n = source.nbytes() / self.dtype().itemsize();
  return set_storage(self, std::move(source), 0, {n}, {1});
}
Tensor& set_tensor(Tensor& self, const Tensor& source) {
  return set_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}
Tensor& set_empty(Tensor& self) {
  Storage fresh(Storage::use_byte_size_t(), 0, g_allocator.allocate(0), &g_allocator, true);
  return set_storage(self, fresh, 0, {0}, {1});
}
void record_stream(Tensor&, Stream) {}

// attention: 0 math, 1 flash, 2 efficient
int64_t fused_sdp_choice(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double p,
                         bool, std::optional<double>, bool gqa) {
  bool half = q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16;
  bool is_4d = q.dim() == 4 && k.dim() == 4 && q.size(-1) == v.size(-1);
  if (p != 0.0 || gqa || !is_4d || (!half && q.scalar_type() != at::kFloat)) return 0;
  if (g_is_t4 && q.scalar_type() == at::kBFloat16) return 0;
  if (half && !g_is_t4 && !(mask && mask->defined()) && q.size(-1) % 8 == 0) return 2;  // flash: the efficient one stands for it
  return q.size(-1) % (half ? 8 : 4) == 0 ? 2 : 0;
}
std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_attention(
    const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& bias, bool, double p, bool causal,
    std::optional<double> scale) {
  Loan loan;
  at::AutoDispatchBelowADInplaceOrView below;
  impl::ExcludeDispatchKeyGuard no_autocast(autocast_dispatch_keyset);
  std::optional<Tensor> mask = bias && bias->defined() ? std::optional<Tensor>(loan.lend(*bias)) : std::nullopt;
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(loan.lend(q), loan.lend(k), loan.lend(v), p, causal,
                                                                    mask, scale);
  Tensor seed = at::empty({}, at::dtype(at::kLong)), offset = at::empty({}, at::dtype(at::kLong));
  return {loan.take_back(out), loan.take_back(lse), seed, offset};
}
std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_attention_backward(
    const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, const Tensor& out,
    const Tensor& lse, const Tensor&, const Tensor&, double p, std::array<bool, 4>, bool causal,
    std::optional<double> scale) {
  Loan loan;
  at::AutoDispatchBelowADInplaceOrView below;
  std::optional<Tensor> mask = bias.defined() ? std::optional<Tensor>(loan.lend(bias)) : std::nullopt;
  auto [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      loan.lend(grad), loan.lend(q), loan.lend(k), loan.lend(v), loan.lend(out), loan.lend(lse), p, causal, mask, scale);
  return {loan.take_back(gq), loan.take_back(gk), loan.take_back(gv), Tensor()};
}

// The CPU build knows no choice for CUDA, so it is made here; each of the two has its own backward.
Tensor sdpa(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask, double p, bool causal,
            std::optional<double> scale, bool gqa) {
  std::optional<Tensor> bias = mask;
  if (mask && mask->defined() && mask->scalar_type() == at::kBool)
    bias = at::where(*mask, at::scalar_tensor(0.0, q.options()),
                     at::scalar_tensor(-std::numeric_limits<double>::infinity(), q.options()));
  if (fused_sdp_choice(q, k, v, mask, p, causal, scale, gqa) == 0)
    return std::get<0>(at::_scaled_dot_product_attention_math(q, k, v, bias, p, causal, std::nullopt, scale, gqa));
  if (bias && bias->defined()) bias = bias->expand({q.size(0), q.size(1), q.size(2), k.size(2)});
  bool needs_gradient = at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  return std::get<0>(at::_scaled_dot_product_efficient_attention(q, k, v, bias, needs_gradient, p, causal, scale));
}
TORCH_LIBRARY_IMPL(aten, AutogradCUDA, m) {
  m.impl("scaled_dot_product_attention", &sdpa);
}

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}
TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &empty_memory_format);
  m.impl("empty_strided", &empty_strided);
  m.impl("copy_", &copy_);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("set_.source_Storage", &set_storage_alone);
  m.impl("set_.source_Tensor", &set_tensor);
  m.impl("set_", &set_empty);
  m.impl("record_stream", &record_stream);
  m.impl("_fused_sdp_choice", &fused_sdp_choice);
  m.impl("_scaled_dot_product_efficient_attention", &efficient_attention);
  m.impl("_scaled_dot_product_efficient_attention_backward", &efficient_attention_backward);
}
// a CPU tensor over the same memory, for kernels that are written in Python
Tensor host_view(const Tensor& t) {
  Loan loan;
  return loan.lend(t);
}
TORCH_LIBRARY(pretend, m) {
  m.def("host(Tensor self) -> Tensor");
}
TORCH_LIBRARY_IMPL(pretend, CUDA, m) {
  m.impl("host", &host_view);
}
struct SetUp {
  SetUp() {
    SetAllocator(kCUDA, &g_allocator, 100);
  }
} g_set_up;
}  // namespace

extern "C" {
int64_t pretend_stat(int which) {
  Arena& a = arena();
  switch (which) {
    case 0: return a.allocated;
    case 1: return a.peak;
    case 2: return a.reserved;
    case 3: return a.reserved_peak;
    case 4: return a.requested;
    case 5: return a.requested_peak;
  }
  return -1;
}
void pretend_reset_peak() {
  arena().peak = arena().allocated;
  arena().requested_peak = arena().requested;
  arena().reserved_peak = arena().reserved;
}
void pretend_empty_cache() { arena().empty_cache(); }
void pretend_configure(int devices, int workspace, int is_t4) {
  g_devices = devices;
  g_workspace = workspace;
  g_is_t4 = is_t4;
}
void pretend_noise(double relative) { g_noise = relative; }
int pretend_current_device() { return t_device; }
void pretend_set_device(int d) { t_device = static_cast<c10::DeviceIndex>(d); }
}
