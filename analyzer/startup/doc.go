// Package startup reads what the Python sources of an artifact do about the search for libraries
// before a module is imported: folders that they add to the search for DLLs, and libraries that
// they load with ctypes, which count as loaded for the module.
//
//	var s startup.Sources
//	s.Add("pkg/__init__.py", text)
//	before := s.Of("pkg/sub/ext.pyd") // before.Preloaded: "pkg/bin/libh.dll"
//
// Nothing is run. Expressions of os.path, pathlib and string concatenation are worked out; control
// flow is ignored, so folders count that the code adds under some conditions only. What is not
// understood is left out.
package startup
