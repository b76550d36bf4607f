package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/packages"
)

// TestTorchSet checks with which packages wheels of the CUDA packages and of torchvision are checked.
func TestTorchSet(t *testing.T) {
	set, err := torchSet(t.Context(), "2.7.1", packages.Target{Python: "3.12", Arch: "x86_64"})
	if err != nil {
		t.Fatal(err)
	}
	with := map[string]string{}
	for _, r := range set {
		with[r.ID().String()] = strings.Join(needs(set, r), " ")
	}
	want := "nvidia-cublas-cu12==12.6.4.1 nvidia-cusparse-cu12==12.5.4.2 nvidia-nvjitlink-cu12==12.6.85"
	if got := with["nvidia-cusolver-cu12==11.7.1.2"]; got != want {
		t.Errorf("cusolver with %q", got)
	}
	if got, ok := with["nvidia-cublas-cu12==12.6.4.1"]; got != "" || !ok {
		t.Errorf("cublas with %q", got)
	}
	vision := strings.Fields(with["torchvision==0.22.1"])
	if !slices.Contains(vision, "torch==2.7.1") ||
		!slices.Contains(vision, "nvidia-cusolver-cu12==11.7.1.2") ||
		slices.Contains(vision, "torchaudio==2.7.1") {
		t.Errorf("torchvision with %q", vision)
	}
}
