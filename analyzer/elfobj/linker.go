package elfobj

import "slices"

// OfLinker reports whether a symbol is one that linkers and start files add to every object.
// Programs do not use that of a library, which exports it if nothing hides it.
func OfLinker(symbol string) bool { return slices.Contains(linkerSymbols, symbol) }

var linkerSymbols = []string{
	"_init",
	"_fini",
	"_edata",
	"edata",
	"_end",
	"end",
	"__bss_start",
	"__bss_start__",
	"__bss_end__",
	"_bss_end__",
	"__end__",
	"_IO_stdin_used",
	"__data_start",
	"data_start",
	"_GLOBAL_OFFSET_TABLE_",
	"_DYNAMIC",
	"__gmon_start__",
	"_etext",
	"etext",
}
