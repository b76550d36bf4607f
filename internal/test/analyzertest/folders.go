package analyzertest

import (
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// folders are the LD_LIBRARY_PATH and the conda environment of a case.
type folders struct {
	options *analyzer.Options
	files   map[string]*elfobj.Object // by kind and path
	texts   map[string][]byte         // of the conda environment
}

func (f *folders) add(kind, name string, data []byte) error {
	if kind == "conda" && f.options.Conda == nil {
		f.options.Conda = &analyzer.Conda{
			Path:  "/opt/conda",
			Site:  "lib/python3.12/site-packages",
			RPath: []string{"lib"},
			Owner: func(string) string { return "" },
			Open:  func(p string) *elfobj.Object { return f.files["conda/"+p] },
			Text:  func(p string) []byte { return f.texts[p] },
		}
	}
	dir, _ := path.Split(name)
	described := kind == "conda" && strings.HasSuffix(dir, ".dist-info/")
	if described || kind == "conda" && path.Ext(name) == ".py" {
		if f.texts == nil {
			f.texts = map[string][]byte{}
		}
		if f.texts[name] = data; described && !slices.Contains(f.options.Conda.DistInfo, path.Base(dir)) {
			f.options.Conda.DistInfo = append(f.options.Conda.DistInfo, path.Base(dir))
		}
		return nil
	}
	if kind == "conda" && name == "owners" {
		owners := map[string]string{}
		for line := range strings.Lines(string(data)) {
			file, owner, _ := strings.Cut(strings.TrimSpace(line), " ")
			owners[file] = owner
		}
		f.options.Conda.Owner = func(p string) string { return owners[p] }
		return nil
	}
	o, err := elftest.Parse(string(data))
	if err != nil {
		return err
	}
	f.files[kind+"/"+name] = o
	dir = "/" + path.Dir(name)
	if kind == "library-path" &&
		!slices.ContainsFunc(
			f.options.LibraryPath,
			func(x analyzer.Folder) bool { return x.Path == dir },
		) {
		f.options.LibraryPath = append(
			f.options.LibraryPath,
			analyzer.Folder{
				Path: dir,
				Open: func(file string) *elfobj.Object { return f.files[kind+dir+"/"+file] },
			},
		)
	}
	return nil
}
