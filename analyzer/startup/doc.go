// Package startup reads from the Python sources of an artifact how they affect the search for
// libraries before a module is imported: folders that they add to the DLL search path, and
// libraries that they load with ctypes, so that they are loaded already when the module is.
//
//	var s startup.Sources
//	s.Add("pkg/__init__.py", text)
//	before := s.Of("pkg/sub/ext.pyd") // before.Preloaded: "pkg/bin/libh.dll"
//
//	p[name] = module // of ReadModule
//	runs := p.Index().Starts("pkg/sub/ext") // runs[0].Events: what happens before it is imported
//
// Nothing is executed. Expressions of os.path, pathlib and string concatenation are evaluated.
// For Sources and Loads control flow is ignored, so folders that the code adds only under some
// conditions are included. For Program it is not: see Event.May.
// Other expressions are ignored.
package startup
