// Debian's librocsparse against a host reference in double: csrmv with and without analysis, plain and transposed, csrmm.
#include <hip/hip_runtime.h>
#include <rocsparse/rocsparse.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int kRows = 2000, kColumns = 1500, kVectors = 33;
constexpr float kAlpha = 1.5f, kBeta = -0.5f;

#define CHECK(call)                                                                        \
  do {                                                                                     \
    if (const auto status = (call); static_cast<int>(status) != 0) {                       \
      std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status)); \
      return false;                                                                        \
    }                                                                                      \
  } while (false)

// Numbers that are the same everywhere.
struct Noise {
  uint32_t state = 1;
  uint32_t next() { return (state = state * 1664525u + 1013904223u) >> 8; }
  float value() { return static_cast<float>(next() % 2001) / 1000 - 1; }
};

template <typename T>
struct Buffer {
  explicit Buffer(const std::vector<T>& from) : count(from.size()) {
    if (hipMalloc(&data, count * sizeof(T)) == hipSuccess)
      (void)hipMemcpy(data, from.data(), count * sizeof(T), hipMemcpyHostToDevice);
  }
  ~Buffer() { (void)hipFree(data); }
  std::vector<T> read() const {
    std::vector<T> to(count);
    (void)hipMemcpy(to.data(), data, count * sizeof(T), hipMemcpyDeviceToHost);
    return to;
  }
  T* data = nullptr;
  size_t count;
};

struct Matrix {
  std::vector<int> starts{0}, columns;
  std::vector<float> values;
  Matrix() {
    Noise noise;
    for (int row = 0; row < kRows; ++row) {
      // Rows of very different length.
      const int entries = row % 50 == 0 ? 300 : static_cast<int>(noise.next() % 20);
      int column = static_cast<int>(noise.next() % 5);
      for (int i = 0; i < entries && column < kColumns; ++i) {
        columns.push_back(column);
        values.push_back(noise.value());
        column += 1 + static_cast<int>(noise.next() % (row % 50 == 0 ? 8 : 140));
      }
      starts.push_back(static_cast<int>(columns.size()));
    }
  }
  int count() const { return static_cast<int>(values.size()); }
};

bool compare(const char* what, const std::vector<float>& found, const std::vector<double>& expected) {
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) worst = std::fmax(worst, std::fabs(expected[i] - found[i]));
  const bool ok = worst < 2e-4;
  std::printf("%-18s largest error %.2g%s\n", what, worst, ok ? "" : "  WRONG");
  return ok;
}

bool run() {
  const Matrix a;
  Noise noise;
  std::vector<float> x(kRows), y(kRows), b(size_t{kColumns} * kVectors), c(size_t{kRows} * kVectors);
  for (auto* list : {&x, &y, &b, &c})
    for (float& value : *list) value = noise.value();
  const Buffer starts(a.starts), columns(a.columns);
  const Buffer values(a.values), dx(x), db(b);
  rocsparse_handle handle;
  rocsparse_mat_descr descriptor;
  rocsparse_mat_info info;
  CHECK(rocsparse_create_handle(&handle));
  CHECK(rocsparse_create_mat_descr(&descriptor));
  CHECK(rocsparse_create_mat_info(&info));
  bool ok = true;

  std::vector<double> forward(kRows), transposed(kColumns);
  for (int i = 0; i < kRows; ++i) forward[i] = double{kBeta} * y[i];
  for (int i = 0; i < kColumns; ++i) transposed[i] = double{kBeta} * y[i];
  for (int row = 0; row < kRows; ++row)
    for (int i = a.starts[row]; i < a.starts[row + 1]; ++i) {
      forward[row] += double{kAlpha} * a.values[i] * x[a.columns[i]];
      transposed[a.columns[i]] += double{kAlpha} * a.values[i] * x[row];
    }
  for (const bool is_analysed : {false, true}) {
    const Buffer dy(y);
    if (is_analysed)
      CHECK(rocsparse_scsrmv_analysis(handle, rocsparse_operation_none, kRows, kColumns, a.count(), descriptor, values.data,
                                      starts.data, columns.data, info));
    CHECK(rocsparse_scsrmv(handle, rocsparse_operation_none, kRows, kColumns, a.count(), &kAlpha, descriptor, values.data,
                           starts.data, columns.data, is_analysed ? info : nullptr, dx.data, &kBeta, dy.data));
    ok &= compare(is_analysed ? "csrmv analysed" : "csrmv", dy.read(), forward);
  }
  const Buffer dt(y);
  CHECK(rocsparse_scsrmv(handle, rocsparse_operation_transpose, kRows, kColumns, a.count(), &kAlpha, descriptor, values.data,
                         starts.data, columns.data, nullptr, dx.data, &kBeta, dt.data));
  ok &= compare("csrmv transposed", dt.read(), transposed);

  const Buffer dc(c);
  CHECK(rocsparse_scsrmm(handle, rocsparse_operation_none, rocsparse_operation_none, kRows, kVectors, kColumns, a.count(),
                         &kAlpha, descriptor, values.data, starts.data, columns.data, db.data, kColumns, &kBeta, dc.data,
                         kRows));
  std::vector<double> product(c.size());
  for (int k = 0; k < kVectors; ++k)
    for (int row = 0; row < kRows; ++row) {
      double& sum = product[size_t(k) * kRows + row];
      sum = double{kBeta} * c[size_t(k) * kRows + row];
      for (int i = a.starts[row]; i < a.starts[row + 1]; ++i)
        sum += double{kAlpha} * a.values[i] * b[size_t(k) * kColumns + a.columns[i]];
    }
  ok &= compare("csrmm", dc.read(), product);
  CHECK(rocsparse_destroy_mat_info(info));
  CHECK(rocsparse_destroy_mat_descr(descriptor));
  CHECK(rocsparse_destroy_handle(handle));
  return ok;
}

}  // namespace

int main() {
  const bool ok = run();
  std::puts(ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
