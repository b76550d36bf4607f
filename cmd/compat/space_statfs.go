//go:build linux || darwin

package main

import "golang.org/x/sys/unix"

// freeBytes returns how many bytes this user can write to the file system of a folder; ok is false
// if that is not known.
func freeBytes(dir string) (free uint64, ok bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true //nolint:gosec // a size of blocks is positive
}
