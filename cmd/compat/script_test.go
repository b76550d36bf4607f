package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj/elftest"
	"github.com/compat-app/compat/analyzer/peobj"
	docgen "github.com/compat-app/compat/internal/gen/docs"
	"github.com/compat-app/compat/internal/gen/docs/golden"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain also makes the test binary the program, for the scripts, and for a service that starts
// analyses.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == analyzeCommand {
		main()
	}
	for _, name := range []string{ // CI of pull requests has the same output
		"GITHUB_EVENT_NAME", "CI_MERGE_REQUEST_IID", "BUILD_REASON", "CHANGE_ID",
	} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	if os.Getenv(measureVariable) != "" {
		os.Exit(measureChild())
	}
	testscript.Main(m, map[string]func(){
		"compat": main,
	})
}

// TestScripts runs testdata/script: commands in a terminal with their expected output.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			// do not use the configuration of this machine
			env.Setenv("PIP_CONFIG_FILE", os.DevNull)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"elf":    elf,
			"wheel":  wheel,
			"macho":  macho,
			"schema": schema,
		},
	})
}

// elf FILE... converts objects in elfobj's or peobj's text form to ELF or PE files, in place.
func elf(ts *testscript.TestScript, _ bool, files []string) {
	for _, f := range files {
		if text := ts.ReadFile(f); strings.HasPrefix(text, "pe ") {
			o, err := peobj.Parse(text)
			ts.Check(err)
			b, err := peobj.Write(o)
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(f), b, 0o644))
			continue
		}
		b, err := elftest.Build(ts.ReadFile(f))
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(f), b, 0o644))
	}
}

// macho FILE writes a Mach-O header whose fields are all ones.
func macho(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: macho FILE")
	}
	header := append([]byte{0xcf, 0xfa, 0xed, 0xfe}, bytes.Repeat([]byte{0xff}, 60)...)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), header, 0o600))
}

// wheel FILE FOLDER packs a directory.
func wheel(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: wheel FILE FOLDER")
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	root := ts.MkAbs(args[1])
	ts.Check(filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		w, err := z.Create(filepath.ToSlash(name))
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}))
	ts.Check(z.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}

func TestCommandPages(t *testing.T) {
	root, docs := newRootCommand(environment{Getenv: os.LookupEnv}), filepath.Join("..", "..", "docs")
	golden.File(t, filepath.Join(docs, "commands.md"), docgen.Commands(root))
	golden.File(t, filepath.Join(docs, "compat.1"), docgen.Man(root))
}

func TestDemo(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"demo"},
		environment{Getenv: os.LookupEnv, Out: &out, Err: &errs}); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	for _, want := range []string{
		"check compat: failure: ", "tagged manylinux2014, but needs manylinux_2_31",
		"12.8.61 and 12.8.93, which lack __nvJitLink", "nvidia-nvjitlink-cu12>=12.9",
		"built for CUDA, but torch 2.4.0+rocm6.1 is a ROCm build",
		"Rebuild against the ROCm build of torch",
		"-Wl,--no-as-needed -ldl", "libcufile.so does not link libdl.so.2",
		"check compat: success", "\n  A  failure  warp_lang 1.5.0: ", "\n  E  success  Compatible: ",
	} {
		if !bytes.Contains(out.Bytes(), []byte(want)) {
			t.Errorf("the demo does not show %q", want)
		}
	}
	if bytes.Contains(out.Bytes(), []byte("/reports/")) {
		t.Error("it links pages of a service that has ended")
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// With --keep the report pages that the demo links are open until it is interrupted.
func TestDemoIsKept(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"demo", "--keep"},
			environment{Getenv: os.LookupEnv, Out: write, Err: write})
		_ = write.Close()
	}()
	var pages []string
	link := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/reports/[0-9a-f]+`)
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		pages = append(pages, link.FindAllString(lines.Text(), -1)...)
		if strings.Contains(lines.Text(), "Press Ctrl-C") {
			break
		}
	}
	if len(pages) < 5 {
		t.Errorf("links to %d pages", len(pages))
	}
	for _, page := range pages {
		response, err := http.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK ||
			!bytes.Contains(text, []byte("compat report")) {
			t.Errorf("%s: %s, %v", page, response.Status, err)
		}
	}
	interrupt()
	_, _ = io.Copy(io.Discard, read)
	if code := <-ended; code != exitOK {
		t.Errorf("exit %d", code)
	}
}
