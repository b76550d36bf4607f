package windows

import (
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// providers are the DLLs that Python packages install and make loadable: importing them adds their
// folder to the search path or loads the DLLs. The first name is the package to declare as a
// dependency. The list is kept by hand, and the origin of an entry is not recorded. It has neither
// versions nor exports: any release of a package is assumed to have each DLL whose name matches. A
// package that is missing here is not known to have a DLL, unless its name resembles that of the
// DLL (package rules).
var providers = []struct {
	name     *lazyregexp.Regexp
	packages []string
}{
	{lazyregexp.New(`^(c10(_cuda|_hip|_xpu)?|torch(_.*)?|caffe2.*|fbgemm|asmjit|shm)\.dll$`),
		[]string{"torch"}},
	{lazyregexp.New(`^(arrow|parquet|gandiva)(_.*)?\.dll$`), []string{"pyarrow"}},
	{lazyregexp.New(`^(pywintypes|pythoncom)\d+\.dll$`), []string{"pywin32"}},
	{lazyregexp.New(`^(pyside[26]|shiboken[26])(qml)?(\..*)?\.dll$`),
		[]string{"shiboken6", "pyside6", "pyside6-essentials", "shiboken2", "pyside2"}},
	{
		lazyregexp.New(`^qt63d.*\.dll$`),
		[]string{"pyqt6-3d-qt6", "pyqt6-3d", "pyside6-addons", "pyside6"},
	},
	{
		lazyregexp.New(`^qt6(webengine|webchannel).*\.dll$`),
		[]string{"pyqt6-webengine-qt6", "pyqt6-webengine", "pyside6-addons", "pyside6"},
	},
	{
		lazyregexp.New(`^qt6(charts|datavis|networkauth).*\.dll$`),
		[]string{"pyqt6-charts-qt6", "pyqt6-charts", "pyside6-addons", "pyside6"},
	},
	{lazyregexp.New(`^qt6.*\.dll$`),
		[]string{"pyqt6-qt6", "pyside6-essentials", "pyqt6", "pyside6", "pyside6-addons"}},
	{lazyregexp.New(`^qt5.*\.dll$`), []string{"pyqt5-qt5", "pyqt5", "pyside2"}},
	{lazyregexp.New(`^libiomp5md\.dll$`), []string{"intel-openmp", "mkl", "torch"}},
	{lazyregexp.New(`^mkl_.*\.dll$`), []string{"mkl"}},
	{lazyregexp.New(`^tbb(12|bind.*|malloc.*)?\.dll$`), []string{"tbb", "mkl"}},
	{lazyregexp.New(`^(libmmd|svml_dispmd|libifcoremd|libifportmd|sycl\d*|pi_.*|ur_.*)\.dll$`),
		[]string{"intel-cmplr-lib-rt", "dpcpp-cpp-rt", "intel-fortran-rt"}},
	{lazyregexp.New(`^openvino.*\.dll$`), []string{"openvino"}},
	{lazyregexp.New(`^onnxruntime(_.*)?\.dll$`), []string{"onnxruntime", "onnxruntime-gpu"}},
	{lazyregexp.New(`^(_pywrap_tensorflow.*|tensorflow_(framework|cc)(\.2)?)\.(dll|pyd)$`),
		[]string{"tensorflow", "tensorflow-intel"}},
	{lazyregexp.New(`^cudart64_.*\.dll$`), []string{"nvidia-cuda-runtime-cu12"}},
	{lazyregexp.New(`^cublas(lt)?64_.*\.dll$`), []string{"nvidia-cublas-cu12"}},
	{lazyregexp.New(`^cudnn.*64_.*\.dll$`), []string{"nvidia-cudnn-cu12"}},
	{lazyregexp.New(`^cufftw?64_.*\.dll$`), []string{"nvidia-cufft-cu12"}},
	{lazyregexp.New(`^curand64_.*\.dll$`), []string{"nvidia-curand-cu12"}},
	{lazyregexp.New(`^cusolver(mg)?64_.*\.dll$`), []string{"nvidia-cusolver-cu12"}},
	{lazyregexp.New(`^cusparse64_.*\.dll$`), []string{"nvidia-cusparse-cu12"}},
	{lazyregexp.New(`^nvrtc(64_|-builtins).*\.dll$`), []string{"nvidia-cuda-nvrtc-cu12"}},
	{lazyregexp.New(`^nvjitlink_.*\.dll$`), []string{"nvidia-nvjitlink-cu12"}},
	{lazyregexp.New(`^(cupti64_|nvjpeg64_|npp[a-z]+64_|nvtoolsext64_).*\.dll$`),
		[]string{
			"nvidia-cuda-cupti-cu12",
			"nvidia-nvjpeg-cu12",
			"nvidia-npp-cu12",
			"nvidia-nvtx-cu12",
		}},
	{lazyregexp.New(`^nvinfer.*\.dll$`), []string{"tensorrt-cu12-libs", "tensorrt"}},
	{lazyregexp.New(`^(msvcp140.*|vcruntime140.*|concrt140|vcomp140|vccorlib140)\.dll$`),
		[]string{"msvc-runtime"}},
}

// Providers lists the normalised names of packages that are known to contain a DLL; nil if none is
// known.
func Providers(name string) []string {
	name = strings.ToLower(name)
	for _, p := range providers {
		if p.name.MatchString(name) {
			return p.packages
		}
	}
	return nil
}
