// Command pyodidegen makes the embedded table of analyzer/platform/pyodide: what the main program
// of each ABI of Pyodide provides to the modules that it loads, with the types of functions.
//
// It reads the npm package pyodide: the exports of pyodide.asm.wasm, and the names of the functions
// that pyodide.asm.js implements in JavaScript, which replace exports of the same name. npm
// downloads the packages, as this machine configures it, unless they are given. Run it by
// `go generate ./analyzer/platform/pyodide`.
//
//	pyodidegen -out FILE ABI=VERSION… | ABI=VERSION=FOLDER…
//
// The same packages always give the same bytes.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/compat-app/compat/analyzer/platform/pyodide"
	"github.com/compat-app/compat/analyzer/wasmobj"
	"github.com/compat-app/compat/internal/symboltable"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pyodidegen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("pyodidegen", flag.ContinueOnError)
	out := flags.String("out", filepath.Join("data", "symbols.gz"), "file that is written")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("give the ABIs with the versions of Pyodide, as in 2025_0=0.29.4")
	}
	fields := map[string]string{}
	var versions []string
	for _, arg := range flags.Args() {
		part := strings.SplitN(arg, "=", 3)
		if len(part) < 2 {
			return fmt.Errorf("%s is not like 2025_0=0.29.4", arg)
		}
		versions = append(versions, part[1]+" ("+part[0]+")")
		var dir string
		if len(part) == 3 {
			dir = part[2]
		} else {
			temp, err := os.MkdirTemp("", "pyodidegen")
			if err != nil {
				return err
			}
			defer os.RemoveAll(temp)
			if dir, err = download(ctx, temp, part[1]); err != nil {
				return err
			}
		}
		provided, err := read(dir)
		if err != nil {
			return fmt.Errorf("pyodide %s: %w", part[1], err)
		}
		for name, kind := range provided {
			fields[name] = strings.TrimSpace(fields[name] + " " + part[0] + "=" + kind)
		}
	}
	text := symboltable.Format("What Pyodide "+strings.Join(versions, ", ")+" provides to modules: "+
		"the\n# types of functions of WebAssembly, js for those of JavaScript, tags, and data", fields)
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if _, err := w.Write([]byte(text)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(*out, b.Bytes(), 0o644) //nolint:gosec // a source file
}

// download downloads a version of the npm package, and returns its folder.
func download(ctx context.Context, dir, version string) (string, error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "pyodide@"+version)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	file, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack: %w", err)
	}
	cmd = exec.CommandContext(ctx, "tar", "xzf", strings.TrimSpace(string(file)))
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return filepath.Join(dir, "package"), cmd.Run()
}

// read returns what the main program in a folder provides, by name.
func read(dir string) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "pyodide.asm.wasm"))
	if err != nil {
		return nil, err
	}
	o, err := wasmobj.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(filepath.Join(dir, "pyodide.asm.mjs"))
	if errors.Is(err, os.ErrNotExist) {
		source, err = os.ReadFile(filepath.Join(dir, "pyodide.asm.js"))
	}
	if err != nil {
		return nil, err
	}
	return provided(o, string(source))
}

// provided returns what a program provides, with the functions of its JavaScript.
func provided(o *wasmobj.Object, source string) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range o.Exports {
		switch e.Kind {
		case wasmobj.Func:
			out[e.Name] = e.Type
		case wasmobj.Tag:
			out[e.Name] = pyodide.Tag + e.Type
		case wasmobj.Global:
			out[e.Name] = pyodide.Data
		}
	}
	names, err := functions(source)
	if err != nil {
		return nil, err
	}
	for name, kind := range names {
		if !strings.HasPrefix(out[name], pyodide.Tag) {
			out[name] = kind
		}
	}
	for _, a := range alias.FindAllStringSubmatch(source, -1) {
		out[a[1]] = out[a[2]]
	}
	for _, n := range []string{"memory", "__indirect_function_table", "__stack_pointer",
		"__memory_base", "__table_base"} {
		delete(out, n) // each module imports them
	}
	return out, nil
}

// What JavaScript provides: the object with all of it, a member of that, a function that only
// stands for a missing one, a variable that is a tag or an address, and an alias that is added at
// the start.
var (
	imports = regexp.MustCompile(`\bwasmImports=\{([^{}]+)\}`)
	member  = regexp.MustCompile(`^\s*(?:"([^"]+)"|([\w$]+))(?::([\w$]+))?\s*$`)
	stub    = regexp.MustCompile(`([\w$]+)\.stub=true`)
	tag     = regexp.MustCompile(`\bvar ([\w$]+)=new WebAssembly\.Tag\(\{parameters:\["i32"\]\}`)
	address = regexp.MustCompile(`\bvar ([\w$]+)=(?:\d|new WebAssembly\.Global\()`)
	alias   = regexp.MustCompile(`\bwasmImports\["(\w+)"\]=wasmImports\["(\w+)"\]`)
)

// functions returns what JavaScript provides, by name.
func functions(source string) (map[string]string, error) {
	m := imports.FindStringSubmatch(source)
	if m == nil {
		return nil, errors.New("pyodide.asm.js has no object wasmImports")
	}
	kinds := map[string]string{} // of variables
	for kind, expr := range map[string]*regexp.Regexp{
		"": stub, pyodide.Tag + "i>": tag, pyodide.Data: address,
	} {
		for _, s := range expr.FindAllStringSubmatch(source, -1) {
			kinds[s[1]] = kind
		}
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(m[1], ",") {
		e := member.FindStringSubmatch(part)
		if e == nil {
			return nil, fmt.Errorf("%.80q is no member of wasmImports", part)
		}
		name := e[1] + e[2]
		kind, ok := kinds[cmp.Or(e[3], name)]
		switch {
		case !ok:
			out[name] = pyodide.JavaScript
		case kind != "":
			out[name] = kind
		}
	}
	return out, nil
}
