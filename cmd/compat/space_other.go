//go:build !linux && !darwin && !windows

package main

// freeBytes reports that the free space of a folder is not known.
func freeBytes(string) (free uint64, ok bool) { return 0, false }
