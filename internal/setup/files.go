package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/shellword"
)

// Names of the two files in Options.Dir.
const (
	KeyFile      = "compat.private-key.pem"
	SettingsFile = "compat.env"
)

// files are the two files for the secrets. They are created before the App, because GitHub
// returns the secrets only once.
type files struct{ key, settings *os.File }

// reserve creates both files with mode 0600, or none. Existing files and symbolic links are never
// written to.
func reserve(dir string) (*files, error) {
	f := &files{}
	for _, x := range []struct {
		name string
		to   **os.File
	}{{KeyFile, &f.key}, {SettingsFile, &f.settings}} {
		path := filepath.Join(dir, x.name)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			f.drop()
			if errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf(
					"%s already exists and is not overwritten; move it, or give another folder (--out of compat "+
						"setup, COMPAT_DATA of compat serve)",
					path,
				)
			}
			return nil, fmt.Errorf(
				"cannot create %s: %w; give a writable folder (--out of compat setup, "+
					"COMPAT_DATA of compat serve)",
				path,
				cause(err),
			)
		}
		*x.to = file
	}
	return f, nil
}

// drop removes both files.
func (f *files) drop() {
	for _, file := range []*os.File{f.key, f.settings} {
		if file != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}
}

// write fills both files. After an error those with content are kept, because they may contain the
// only copy of a secret, and empty ones are removed.
func (f *files) write(key []byte, settings string) error {
	var errs []error
	for _, x := range []struct {
		file *os.File
		data []byte
	}{{f.key, key}, {f.settings, []byte(settings)}} {
		n, err := x.file.Write(x.data)
		if err = errors.Join(err, x.file.Sync(), x.file.Close()); err != nil {
			if n == 0 {
				_ = os.Remove(x.file.Name())
			}
			errs = append(errs, fmt.Errorf("cannot write %s: %w", x.file.Name(), cause(err)))
		}
	}
	return errors.Join(errs...)
}

// cause removes the operation and the path from an error, because the message contains them.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// secret matches a webhook secret; GitHub's are hexadecimal. A comma would separate two secrets.
var secret = lazyregexp.New(`^[!-+\--~]+$`)

// settings returns the content of the settings file: the environment of `compat serve`, in a
// syntax that shells, systemd and containers accept.
func settings(o Options, app *github.Registered, keyPath string) (string, error) {
	if !secret.Match(app.WebhookSecret) {
		return "", errors.New("GitHub's webhook secret contains a comma or a space")
	}
	lines := []shellword.Line{
		"# The GitHub App " + shellword.Quote(app.Slug) + " of " +
			shellword.Quote(o.Site.Web.String()) +
			", as compat made it. Keep this file to yourself.",
		"APP_ID=" + shellword.Quote(strconv.FormatInt(app.ID, 10)),
		"WEBHOOK_SECRET=" + shellword.Quote(string(app.WebhookSecret)),
		"PRIVATE_KEY_PATH=" + shellword.Quote(keyPath),
		"COMPAT_PUBLIC_URL=" + shellword.Quote(o.Public.String()),
	}
	if o.Data != "" {
		lines = append(lines, "COMPAT_DATA="+shellword.Quote(o.Data))
	}
	if api := o.Site.API.String(); api != config.DefaultAPI {
		lines = append(lines, "GITHUB_API_URL="+shellword.Quote(api))
	}
	return string(shellword.Join(lines, "\n")) + "\n", nil
}
