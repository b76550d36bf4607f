package windows

import (
	"github.com/compat-app/compat/internal/lazyregexp"
)

// VisualC describes a DLL of a Visual C++ runtime.
type VisualC struct {
	Product string // "2015-2022", "2013"
	Debug   bool   // part of Visual Studio only, not redistributable
	Modern  bool   // part of the Visual C++ 2015-2022 Redistributable, which many machines have
}

// product returns the Visual C++ release with a number in the names of its DLLs; "" if it is not
// known. The numbers are the versions of the Visual C++ libraries (Microsoft, "Latest supported
// Visual C++ Redistributable downloads", from 2005 on). 140 is the number of all releases since
// 2015, so the name does not tell which of them a file needs.
func product(version string) string {
	switch version {
	case "70":
		return "2002"
	case "71":
		return "2003"
	case "80":
		return "2005"
	case "90":
		return "2008"
	case "100":
		return "2010"
	case "110":
		return "2012"
	case "120":
		return "2013"
	case "140":
		return "2015-2022"
	}
	return ""
}

// runtimeName matches names of the runtimes' DLLs, which Microsoft's "Determining which DLLs to
// redistribute" describes. All release DLLs of 140 are assumed to be in the Redistributable.
// libomp140 is not, and is not matched.
var runtimeName = lazyregexp.New(
	`^(?:msvcp|msvcr|msvcm|mfcm?|mfc|vcomp|vcamp|vcruntime|vccorlib|concrt|atl)` +
		`(70|71|80|90|100|110|120|140)(u?d?)(?:_(?:1|2|atomic_wait|codecvt_ids|threads|app|clr0400)d?)?(u?d?)\.dll$`,
)

// visualC parses the name of a runtime's DLL.
func visualC(name string) (VisualC, bool) {
	if name == "ucrtbased.dll" {
		return VisualC{Product: "2015-2022", Debug: true}, true
	}
	m := runtimeName.FindStringSubmatch(name)
	if m == nil {
		return VisualC{}, false
	}
	debug := len(m[2]) > 0 && m[2][len(m[2])-1] == 'd'
	return VisualC{Product: product(m[1]), Debug: debug, Modern: m[1] == "140" && !debug}, true
}

// optional are DLLs that are not part of Windows and are installed with products other than Python
// packages, which source names. The list is kept by hand, and the origin of an entry is not
// recorded. Versions of the products and the exports of the DLLs are not known. A DLL of a product
// that is not listed is of Kind Other.
var optional = []struct {
	name   *lazyregexp.Regexp
	kind   Kind
	source string
}{
	{
		lazyregexp.New(
			`^(d3dx(9|10|11)_\d+|d3dcompiler_(3\d|4[0-36])|d3dcsxd?_\d+|x3daudiod?1_\d|xapofxd?1_\d|xaudio2_[0-7]|` +
				`xactengine\d_\d+|xinput1_[123])\.dll$`,
		),
		Optional,
		"the DirectX End-User Runtimes (June 2010)",
	},
	{
		lazyregexp.New(
			`^(nvcuda|nvml|nvcuvid|nvencodeapi(64)?|nvapi(64)?|nvfatbinaryloader|nvoptix)\.dll$`,
		),
		Driver,
		"the NVIDIA driver",
	},
	{
		lazyregexp.New(`^(amdhip64(_\d+)?|amd_comgr(_\d+)?|amfrt64|atiadlxx|amdxc64)\.dll$`),
		Driver,
		"the AMD driver",
	},
	{lazyregexp.New(`^(opencl|vulkan-1|ze_loader|igdrcl64)\.dll$`), Driver, "a graphics driver"},
	{lazyregexp.New(`^(wpcap|packet)\.dll$`), Driver, "Npcap"},
	{
		lazyregexp.New(`^(visa(32|64)|nivisa64|nidaqmx|nicaiu|ni4882|nifpga)\.dll$`),
		Driver,
		"drivers of NI (National Instruments)",
	},
	{
		lazyregexp.New(`^(tcl8\dt?|tk8\dt?|tcl9\dt?|tcl9tk9\dt?)\.dll$`),
		Optional,
		"the tkinter of Python, which only its own modules find",
	},
	{lazyregexp.New(`^oci\.dll$`), Optional, "the Oracle client"},
	{lazyregexp.New(`^jvm\.dll$`), Optional, "a Java runtime"},
}
