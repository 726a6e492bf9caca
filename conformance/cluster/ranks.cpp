// The same bodies by MPI: every rank is a process with a GPU of its own, and the ranks exchange their shares.
//
//   mpicxx -std=c++17 -O2 -I . conformance/cluster/ranks.cpp -lOpenCL -o ranks
//   mpirun -n 2 ./ranks COUNT STEPS
#include <mpi.h>

#include <cstdlib>

#include "conformance/cluster/bodies.h"

namespace {

int move_bodies(int rank, int ranks, int count, int steps) {
  std::vector<cl::Device> devices;
  cl::Platform::getDefault().getDevices(CL_DEVICE_TYPE_GPU, &devices);
  cl::Context context(devices.at(0));
  const int each = count / ranks;
  if (each * ranks != count) throw std::invalid_argument("ranks have equal shares");
  bodies::Share share(context, devices.at(0), bodies::build(context), each * rank, each, count);
  const std::vector<cl_float4> before = bodies::start(count);
  std::vector<cl_float4> positions = before, moved(static_cast<size_t>(each));
  share.load(before);
  double begin = 0, error = 0;
  for (int s = 0; s <= steps; ++s) {
    share.step({}).wait();
    share.queue.enqueueReadBuffer(share.moved, CL_TRUE, 0, bodies::Share::bytes_of(each), moved.data());
    MPI_Allgather(moved.data(), each * 4, MPI_FLOAT, positions.data(), each * 4, MPI_FLOAT, MPI_COMM_WORLD);
    share.queue.enqueueWriteBuffer(share.all, CL_TRUE, 0, bodies::Share::bytes_of(count), positions.data());
    if (s == 0) {  // not timed: programs are built and kernels get hot
      error = bodies::error_of_first_step(before, positions);
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
    }
  }
  const double seconds = MPI_Wtime() - begin;
  char host[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(host, &length);
  std::printf("rank %d on %s: %s\n", rank, host, devices.at(0).getInfo<CL_DEVICE_NAME>().c_str());
  const bool right = error < 1e-4;
  if (rank == 0)
    std::printf("result devices=%d seconds=%.4f digest=%016llx error=%.1e %s\n", ranks, seconds,
                static_cast<unsigned long long>(bodies::digest(positions)), error, right ? "right" : "WRONG");
  return right ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, ranks = 1, failed = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    if (count != 3) throw std::invalid_argument("usage: ranks COUNT STEPS");
    failed = move_bodies(rank, ranks, std::atoi(words[1]), std::atoi(words[2]));
  } catch (const cl::Error& error) {
    std::fprintf(stderr, "rank %d: %s: error %d\n", rank, error.what(), error.err());
    MPI_Abort(MPI_COMM_WORLD, 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return failed;
}
