// Package winload models the DLL loader of Windows: which file is found for an imported DLL when
// Python imports an extension module, and which imports no DLL of the load exports.
//
//	env := winload.New(winload.Python{Interpreter: i}, peobj.Amd64, files, sources)
//	load := env.Load(root)
//
// DLLs are identified by file name alone, without a folder, ignoring case. The loader searches, in
// this order, the loaded DLLs, the API sets and known DLLs of Windows, the folders that Python
// passes to the loader, and System32. The folders of Python are
//
//   - since Python 3.8 (LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR and _DEFAULT_DIRS in CPython's
//     Python/dynload_win.c) the folder of the imported module, also for dependencies of its DLLs,
//     the folder of python.exe, and those added with os.add_dll_directory;
//   - before 3.8, PATH instead of the latter.
//
// Last are the DLLs of packages that the artifact may import before, which are then loaded already.
//
// Package startup reads from the Python sources what a package's __init__.py does before the module
// is imported. All imports of all DLLs are bound at load time, following forwarders, except for
// those of delay-loaded DLLs.
//
// Nothing is executed, and no files are opened. The exports of Windows come from
// analyzer/platform/windows; symbols that it does not know are not reported as missing. One model
// stands for every release of Windows. Side-by-side assemblies, redirection with .local folders and
// the order in which Windows searches folders that were added are not modelled.
package winload
