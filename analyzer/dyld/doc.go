// Package dyld models the dynamic loader of macOS: which library is found for a load command, and
// which image provides an imported symbol.
//
//	env := dyld.NewEnvironment("arm64", macOS, files)
//	env.Python = "3.12"
//	for _, l := range env.LoadAll() {
//		for b := range env.Bind(l.Root) { … }
//	}
//
// It follows the published source of dyld (dyld/Loader.cpp, dyld/DyldProcessConfig.cpp,
// dyld/JustInTimeLoader.cpp). macOS keeps its libraries in a shared cache, so lookups in system
// libraries use the tables of package macos. Outcomes are those of package dynlink, and TooNew.
// Nothing is executed, and no files are opened.
//
// One model stands for dyld of every macOS release. It has no variables of the environment
// (DYLD_…), no files that other software put into /usr/local/lib, and of other packages only the
// files that it is given. What Python exports is taken from package cpython, whose table is that of
// Linux.
package dyld
