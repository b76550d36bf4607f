package windows

import "testing"

func TestLookup(t *testing.T) {
	for name, want := range map[string]struct {
		kind     Kind
		presence Presence
	}{
		"KERNEL32.dll":                      {System, Present},
		"msvcrt.dll":                        {System, Present},
		"icuuc.dll":                         {System, Present},
		"WINSPOOL.DRV":                      {System, Present},
		"api-ms-win-core-synch-l1-2-0.dll":  {APISet, Present},
		"API-MS-Win-Core-Synch-L1-1-0.dll":  {APISet, Present},
		"api-ms-win-crt-runtime-l1-1-0.dll": {APISet, Present},
		"api-ms-win-core-nosuch-l9-9-9.dll": {APISet, Unknown},
		"api-ms-win-core-synch.dll":         {APISet, Absent},
		"MSVCP140.dll":                      {Runtime, Absent},
		"VCOMP140.DLL":                      {Runtime, Absent},
		"mfc140u.dll":                       {Runtime, Absent},
		"msvcr120.dll":                      {Runtime, Absent},
		"vcruntime140d.dll":                 {Runtime, Absent},
		"libomp140.x86_64.dll":              {Other, Unknown},
		"python312.dll":                     {Python, Absent},
		"python313t_d.dll":                  {Python, Absent},
		"pythoncom312.dll":                  {Other, Unknown},
		"nvcuda.dll":                        {Driver, Absent},
		"d3dx9_43.dll":                      {Optional, Absent},
		"libh.dll":                          {Other, Unknown},
	} {
		if l := Lookup(name, "amd64"); l.Kind != want.kind || l.Presence != want.presence {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestVisualC(t *testing.T) {
	for name, want := range map[string]VisualC{
		"msvcp140.dll":             {"2015-2022", false, true},
		"msvcp140_1.dll":           {"2015-2022", false, true},
		"msvcp140_atomic_wait.dll": {"2015-2022", false, true},
		"msvcp140d.dll":            {"2015-2022", true, false},
		"vcruntime140_1.dll":       {"2015-2022", false, true},
		"mfc140ud.dll":             {"2015-2022", true, false},
		"msvcr90.dll":              {"2008", false, false},
		"ucrtbased.dll":            {"2015-2022", true, false},
		"vcomp120.dll":             {"2013", false, false},
	} {
		if l := Lookup(name, "amd64"); l.Runtime == nil || *l.Runtime != want {
			t.Errorf("%s: %+v", name, l.Runtime)
		}
	}
}

func TestExports(t *testing.T) {
	for _, c := range []struct {
		dll, symbol, machine string
		want                 Presence
		since                string
	}{
		{"KERNEL32.dll", "Sleep", "amd64", Present, ""},
		{"KERNEL32.dll", "NoSuchFunctionW", "amd64", Absent, ""},
		{"kernel32.dll", "CreateFile2", "x86", Present, "6.2"},
		{"kernel32.dll", "AddDllDirectory", "x86", Present, ""},
		{"kernel32.dll", "RtlPcToFileHeader", "amd64", Present, ""},
		{"kernel32.dll", "SetThreadDescription", "arm64", Present, "10.0.15063"},
		{"kernel32.dll", "CreateUmsThreadContext", "x86", Unknown, ""},
		{"kernel32.dll", "#9", "amd64", Unknown, ""},
		{"api-ms-win-crt-runtime-l1-1-0.dll", "_initterm", "amd64", Present, ""},
		{"api-ms-win-crt-math-l1-1-0.dll", "nothing_of_it", "amd64", Absent, ""},
		{"VCRUNTIME140.dll", "memcpy", "amd64", Present, ""},
		{"VCRUNTIME140.dll", "??1type_info@@UEAA@XZ", "amd64", Unknown, ""},
		{"libh.dll", "helper", "amd64", Unknown, ""},
	} {
		got, since := Lookup(c.dll, c.machine).Exports(c.symbol, c.machine)
		if got != c.want || since != c.since {
			t.Errorf("%s of %s on %s: %v, %q", c.symbol, c.dll, c.machine, got, since)
		}
	}
}

func TestName(t *testing.T) {
	for version, want := range map[string]string{
		"6.1": "Windows 7", "6.3": "Windows 8.1", "10.0": "Windows 10", "10.0.10240": "Windows 10",
		"10.0.17763": "Windows 10 version 1809", "10.0.22000": "Windows 11",
	} {
		if got := Name(version); got != want {
			t.Errorf("%s is %s", version, got)
		}
	}
}

func TestInterpreter(t *testing.T) {
	for _, c := range []struct {
		python Interpreter
		dll    string
		want   Presence
	}{
		{Interpreter{Minor: 12}, "python312.dll", Present},
		{Interpreter{Minor: 12}, "python3.dll", Present},
		{Interpreter{Minor: 12}, "python38.dll", Absent},
		{Interpreter{Minor: 13, FreeThreaded: true}, "python313t.dll", Present},
		{Interpreter{Minor: 13, FreeThreaded: true}, "python313.dll", Absent},
		{Interpreter{Minor: 15}, "python3t.dll", Present},
		{Interpreter{Minor: 15, FreeThreaded: true}, "python3t.dll", Present},
		{Interpreter{Minor: 15, FreeThreaded: true}, "python3.dll", Absent},
		{Interpreter{Minor: 14}, "python3t.dll", Absent},
		{Interpreter{Minor: 12}, "vcruntime140_1.dll", Present},
		{Interpreter{Minor: 8}, "vcruntime140_1.dll", Absent},
		{Interpreter{Minor: 12}, "msvcp140.dll", Absent},
		{Interpreter{}, "msvcr90.dll", Present},
	} {
		if got := c.python.Installs(c.dll, "amd64"); got != c.want {
			t.Errorf("%s of %+v: %v", c.dll, c.python, got)
		}
	}
}

func TestOldestWindows(t *testing.T) {
	for _, c := range []struct {
		minor         int
		machine, want string
	}{
		{12, "amd64", "Windows 8.1"}, {13, "amd64", "Windows 10"}, {12, "arm64", "Windows 10 version 1709"},
	} {
		if got := Name(Interpreter{Minor: c.minor}.Windows(c.machine)); got != c.want {
			t.Errorf("Python 3.%d on %s: %s, want %s", c.minor, c.machine, got, c.want)
		}
	}
}
