package queue

import (
	"slices"
	"testing"
	"time"
)

// A worker that was woken for a partition tries it, even if another worker began to wait in the
// meantime and a goroutine blocks on the list again: the wake-up of the job is used up.
func TestWokenWorkerTries(t *testing.T) {
	turns := newTurns(nil, make([]partition, 3))
	turns.state[1].blocked = true
	turns.state[2].after = time.Now().Add(time.Hour)
	for woken, want := range map[int][]int{-1: {0}, 1: {0, 1}, 2: {0, 2}} {
		if got := turns.order(true, woken); !slices.Equal(got, want) {
			t.Errorf("woken for %d: tries %v, want %v", woken, got, want)
		}
	}

	first, second := make(chan int, 1), make(chan int, 1)
	turns.idle = []chan int{first, second}
	turns.mu.Lock()
	turns.wake(1)
	turns.mu.Unlock()
	if got := <-first; got != 1 || len(second) != 0 || len(turns.idle) != 1 {
		t.Errorf("woken for %d, %d are idle; want the first worker, for partition 1", got, len(turns.idle))
	}
}
