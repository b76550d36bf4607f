package lazy

import (
	"sync"
	"testing"
)

func TestValueIsComputedOnce(t *testing.T) {
	calls := 0
	v := Value[[]int]{New: func() []int { calls++; return []int{calls} }}
	if calls != 0 {
		t.Fatal("New is called before Get")
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if got := v.Get(); len(got) != 1 || got[0] != 1 {
				t.Errorf("Get: %v, want [1]", got)
			}
		})
	}
	wait.Wait()
	if calls != 1 {
		t.Fatalf("New is called %d times, want once", calls)
	}
}
