package buildlog

import (
	"cmp"

	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/internal/shellword"
)

// definitionFixes returns the fixes for a symbol with several definitions.
func definitionFixes(d *Diagnosis) []fix.Fix {
	name := cmp.Or(shorten(d.Symbol), "it")
	if d.Rule == tlsMismatch {
		return []fix.Fix{
			newFix(fix.KindSource, "Declare "+name+" in one header, with or without __thread "+
				"(thread_local), include it in all files that use "+name+", and build them again", ""),
			newFix(fix.KindRebuild, "If the headers agree, build all files with the same options: a "+
				"macro decides whether the variable is thread-local", ""),
		}
	}
	return []fix.Fix{
		newFix(fix.KindSource, "Define "+name+" in one source file only. In headers, declare "+
			"variables extern and "+
			"functions inline or static", ""),
		newFix(fix.KindLinkFlag, "If it is one file or library that is linked twice, remove one of "+
			"them", ""),
		newFix(fix.KindLinkFlag, "C compilers before GCC 10 merged several definitions without a "+
			"value; this flag does so again",
			`CFLAGS="-fcommon"`),
	}
}

// scriptFixes returns the fixes for a version script that does not fit the symbols.
func scriptFixes(d *Diagnosis) []fix.Fix {
	name := cmp.Or(shorten(d.Symbol), "the symbol")
	if d.Rule == "ld-version-script" && d.Symbol != "" && d.Version == "" {
		return []fix.Fix{
			newFix(fix.KindSource, "Add the version of "+name+" to the version script, or correct its "+
				".symver line", ""),
		}
	}
	return []fix.Fix{
		newFix(fix.KindSource, "Remove "+name+" from the version script, define it, or correct the "+
			"version that it names",
			""),
		newFix(fix.KindLinkFlag, "Or accept names in the version script that no object defines",
			`LDFLAGS="-Wl,--undefined-version"`),
	}
}

// targetFixes returns the fixes for a linker's input that is for another machine.
func targetFixes(d *Diagnosis) []fix.Fix {
	if d.Rule == ltoInput {
		return []fix.Fix{
			newFix(fix.KindRebuild, "Build "+cmp.Or(base(d.Object), "the file")+" again, with the "+
				"compiler and release that links it, or with machine code in it "+
				"(clang: -fno-lto)", `CFLAGS="-ffat-lto-objects"`),
			newFix(fix.KindLinkFlag, "Link with the compiler instead of ld, with -flto, and make "+
				"archives with gcc-ar and gcc-ranlib, or llvm-ar", `LDFLAGS="-flto"`),
		}
	}
	return []fix.Fix{
		newFix(fix.KindRebuild, "Build "+cmp.Or(base(d.Object), "the file")+" for the architecture of "+
			"the output: "+
			"clean the build folder, and use one compiler and one target for all objects",
			shellword.Bare("file %s", d.Object)),
		newFix(fix.KindLinkFlag, "Remove -m32, -m64, -arch or --target if it is not intended, and "+
			"give -L the folder "+
			"with the libraries of the target", ""),
	}
}

// copyFixes returns the fixes for a variable that a program copies out of a library.
func copyFixes(d *Diagnosis) []fix.Fix {
	if d.Rule == "loader-size-differs" {
		return []fix.Fix{
			newFix(fix.KindRebuild, "Link "+cmp.Or(base(d.Object), "the program")+" again with the "+
				"version of the library "+
				"that it runs with: "+cmp.Or(shorten(d.Symbol), "the variable")+" has another size there", ""),
			newFix(fix.KindPin, "Or use the version of the library that it was linked with", ""),
		}
	}
	return []fix.Fix{
		newFix(fix.KindRebuild, "Compile the program as position-independent code, which reads "+
			cmp.Or(shorten(d.Symbol), "the variable")+" in the library", `CFLAGS="-fPIC"`),
		newFix(fix.KindSource, "Or give the symbol the default visibility in the library: a protected "+
			"one cannot be copied",
			""),
	}
}

// refusedFixes returns the fixes for a file that the system does not allow to be loaded.
func refusedFixes(d *Diagnosis) []fix.Fix {
	file := cmp.Or(base(d.Object), base(d.Library), "the file")
	switch d.Rule {
	case "loader-permission":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Give the user permission to read "+cmp.Or(base(d.Library), file)+
				" and to enter its folders; SELinux and AppArmor may deny it too", shellword.Bare("namei -l "+
				"%s", d.Library)),
		}
	case "macos-load-refused":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Remove the quarantine of "+file+", or allow it in the privacy "+
				"and security settings",
				shellword.Bare("xattr -d com.apple.quarantine %s", d.Object)),
			newFix(fix.KindRebuild, "Sign and notarize it", ""),
		}
	case "windows-load-refused", "windows-load-library":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Allow "+file+" in the policy of this machine (App Control, "+
				"AppLocker, antivirus), "+
				"and give the user permission to read it", ""),
		}
	case "loader-map-failed", "glibc-preload":
		return []fix.Fix{
			newFix(fix.KindEnvironment, "Load "+file+" from a folder that is not mounted noexec: mount "+
				"it with exec, or "+
				"set TMPDIR or the virtual environment to another folder", shellword.Bare("findmnt -T "+
				"%s", d.Object)),
			newFix(fix.KindRebuild, "If it has text relocations, compile every part with -fPIC: SELinux "+
				"does not allow "+
				"code to be changed", `CFLAGS="-fPIC"`),
		}
	}
	return []fix.Fix{newFix(fix.KindEnvironment, "Give the user permission to read and map "+file, "")}
}

// programFixes returns the fixes for a program that is loaded as a library.
func programFixes(d *Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindLinkFlag, "Link "+cmp.Or(base(d.Object), "it")+" as a shared library, with "+
			"-shared (CMake: "+
			"add_library with SHARED or MODULE): it is a program", `LDFLAGS="-shared"`),
		newFix(fix.KindEnvironment, "Or run it as a program, in a process of its own", ""),
	}
}

// pluginFixes returns the fixes for a plugin of Qt whose libraries are missing.
func pluginFixes(*Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindEnvironment, "Install the libraries that the plugin needs and that are missing; "+
			"with QT_DEBUG_PLUGINS=1, Qt names them", "QT_DEBUG_PLUGINS=1"),
		newFix(fix.KindEnvironment, "Without a display, use the plugin that needs none",
			"QT_QPA_PLATFORM=offscreen"),
	}
}

// pageSizeFixes returns the fixes for an allocator that is built for another page size.
func pageSizeFixes(*Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindRebuild, "Build jemalloc, or the program that contains it, for the largest "+
			"page size of the "+
			"architecture (64 KiB: 2^16 bytes)", "./configure --with-lg-page=16"),
		newFix(fix.KindEnvironment, "Or boot a kernel with pages of 4 KiB", "getconf PAGESIZE"),
	}
}

// methodFixes returns the fixes for a native method of Java without an implementation.
func methodFixes(d *Diagnosis) []fix.Fix {
	return []fix.Fix{
		newFix(fix.KindSource, "Load the library that implements "+shorten(d.Symbol)+" before the "+
			"first call (System.loadLibrary), in the class that declares it", ""),
		newFix(fix.KindPin, "Use the native library and the Java classes of one release: the "+
			"function's name is made of the package, the class and the method", ""),
	}
}
