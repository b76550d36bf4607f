// Package emscripten models the dynamic linker of Emscripten: which modules are loaded when Python
// imports an extension module in Pyodide, and which of its imports the program and these modules
// cannot satisfy.
//
//	env := emscripten.New(abi, "pkg", files)
//	load := env.Load(root)
//	for _, b := range load.Bind(root) {
//
// A module imports functions from "env", and the addresses of functions and data from "GOT.func"
// and "GOT.mem". An address is looked up in the program, in the modules that were loaded before and
// in the module itself; the load fails if nothing has it. A function is looked up in the program,
// whose type of it must be the same. If the program does not have it, the linker makes a function
// that looks it up in the modules of the load when it is called, so a missing one fails only then.
//
// A needed library is searched in the run path of the module and in site-packages
// (LD_LIBRARY_PATH). Before Emscripten 4, Pyodide searched all folders of a wheel.
//
// Nothing is executed, and no files are opened. What the program provides is known from
// analyzer/platform/pyodide. The source is Emscripten: src/lib/libdylink.js.
package emscripten
