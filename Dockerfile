# Debian 12 with Morgana as its OpenCL platform, and an OpenCL loader. After ./dev package:
#   docker build -t morgana . && docker run --rm -v "$PWD:/src" -w /src morgana morgana run --require -- ./my-tests
FROM debian:12-slim
COPY build/package/morgana_*_amd64.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/morgana_*_amd64.deb ocl-icd-libopencl1 && rm -rf /tmp/morgana_*_amd64.deb /var/lib/apt/lists/*
CMD ["morgana", "doctor"]
