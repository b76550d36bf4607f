// Package winload is the DLL loader of Windows as a function: which file is found for an imported
// DLL when Python imports an extension module, and which imports no DLL of the load exports.
//
//	env := winload.New(winload.Python{Interpreter: i}, peobj.Amd64, files, sources)
//	load := env.Load(root)
//
// A name alone decides, without a folder and whatever its case. In this order it is looked for
// among what is already loaded, the API sets and system DLLs of Windows, the folders that Python
// gives to the loader, and System32:
//
//   - from Python 3.8 on (LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR and _DEFAULT_DIRS of CPython's
//     Python/dynload_win.c) the folder of the module that is imported, also for the DLLs of its
//     DLLs, the folder of python.exe, and those that os.add_dll_directory added;
//   - before, PATH in place of the latter.
//
// What a package's __init__.py does to that before the module is imported is read from the Python
// source (package startup). Every import of every DLL is bound at load time, through forwarders;
// delay-loaded DLLs are not.
//
// It executes and opens nothing. What Windows exports is known from analyzer/platform/windows only;
// where that doesn't know, nothing is missing.
package winload
