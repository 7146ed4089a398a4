# The scoring server with a model in its image, which is trained while the image is built. Its context is the folder workloads/:
#   docker build --file workloads/digits/image.Dockerfile workloads
# Base image: of a registry without a limit on anonymous pulls, under the tag that Microsoft's own images start from
# (Azure/azure-functions-docker pull request 913, 2023-06-16).
FROM mcr.microsoft.com/mirror/docker/library/python:3.11-slim AS server

# The hash of the context as it was when the build was requested; empty means unchecked.
ARG CONTEXT_HASH=""
ENV PYTHONUNBUFFERED=1 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /app
COPY . .
RUN test -z "$CONTEXT_HASH" || test "$CONTEXT_HASH" = "$(find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)"
RUN pip install --no-cache-dir --no-deps --require-hashes -r scoring/requirements.lock

# The training needs no package beside the server's. It ends with exit code 1, and so does the build, where the accuracy is too low.
FROM server AS training
ARG MIN_ACCURACY=0.95
WORKDIR /app/mnist
RUN python -m mnist_training --data-dir /app/digits/data --output-dir /app/trained --steps 500 --min-accuracy $MIN_ACCURACY

FROM server
COPY --from=training /app/trained/saved_model /app/scoring/model/1
RUN useradd --create-home --uid 10001 scorer
WORKDIR /app/scoring
USER 10001
EXPOSE 5001
ENTRYPOINT ["python", "serve.py"]
