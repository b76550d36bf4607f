//go:build unix

package secretfile

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// private returns an error if other users than the file is meant for have access.
func private(path string, info fs.FileInfo) error {
	refused := fs.FileMode(0o077)
	if s, ok := info.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Geteuid() {
		refused = 0o037 // it is read as a member of its group
	}
	if mode := info.Mode().Perm(); mode&refused != 0 {
		return fmt.Errorf(
			"%w (%s has mode %04o); run chmod 0600 for it (Kubernetes: defaultMode 0400)",
			ErrMode,
			strconv.Quote(path),
			mode,
		)
	}
	return nil
}
