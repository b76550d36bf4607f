package main

import (
	"maps"
	"testing"

	"github.com/compat-app/compat/analyzer/wasmobj"
)

func TestProvided(t *testing.T) {
	o, err := wasmobj.Parse(`wasm
export func PyList_New i>i
export func open iii>i
export func replaced i>
export global _Py_NoneStruct
export memory memory
export tag __cpp_exception i>
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := provided(o, `var ___heap_base=88;var ___memory_base=new WebAssembly.Global({value:1});`+
		`var ___c_longjmp=new WebAssembly.Tag({parameters:["i32"]});_only_a_stub.stub=true;`+
		`var wasmImports={__heap_base:___heap_base,__memory_base:___memory_base,replaced,`+
		`"__c_longjmp":___c_longjmp,only_a_stub:_only_a_stub,emscripten_get_now:_emscripten_get_now};`+
		`wasmImports["open64"]=wasmImports["open"]`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"PyList_New": "i>i", "open": "iii>i", "open64": "iii>i", "replaced": "js",
		"_Py_NoneStruct": "data", "__heap_base": "data", "__cpp_exception": "tag:i>",
		"__c_longjmp": "tag:i>", "emscripten_get_now": "js",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, source := range []string{"", "var wasmImports={f(){return 1}}", "wasmImports={a b}"} {
		if _, err := provided(o, source); err == nil {
			t.Errorf("%q is read", source)
		}
	}
}
