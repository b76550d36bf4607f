// Package dyld is the dynamic loader of macOS as a function: which library is found for a load
// command, and which image provides an imported symbol.
//
//	env := dyld.NewEnvironment("arm64", macOS, files)
//	env.Python = "3.12"
//	for _, l := range env.LoadAll() {
//		for b := range env.Bind(l.Root) { … }
//	}
//
// It follows the published source of dyld (dyld/Loader.cpp, dyld/DyldProcessConfig.cpp,
// dyld/JustInTimeLoader.cpp). A path of the system is answered by the facts of package macos,
// since macOS keeps its libraries in a shared cache. Outcomes are those of package dynlink, plus
// TooNew. It executes nothing and opens nothing.
package dyld
