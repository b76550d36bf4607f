// Package bionic models the dynamic linker of Android: which files are loaded when Python imports
// an extension module, and which imports none of them exports.
//
//	env := bionic.New("aarch64", 24, files)
//	load := env.Load(root)
//
// A library is searched by its name in DT_NEEDED: among those of the load, in the folders of
// DT_RUNPATH (since API level 24; DT_RPATH is never used), and among the libraries of the NDK,
// which are the only ones of the system that an app can load. The libraries of Python
// (libpython3.13.so, libssl_python.so) are in the folder of the app. Modules are loaded with
// RTLD_LOCAL, and so is Python itself, so a symbol is looked up only in the module and in what it
// needs, also indirectly (since API level 23). Symbol versions are not compared: the names in the
// version scripts of the system have one version each.
//
// Nothing is executed, and no files are opened. What the libraries of Android export is known from
// analyzer/platform/android. An import is not reported as missing if a library of the load is not
// found, or if its exports are not known.
//
// The source is bionic: linker/linker.cpp, and android-changes-for-ndk-developers.md.
package bionic
