package index

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// memory is the Cache of a process that was given none: the least recently used goes first. It
// heeds no ttl, since what is kept is a fact about a wheel's bytes.
type memory struct {
	mu    sync.Mutex
	most  int // bytes
	size  int
	order *list.List // of memoryEntry, the most recently used in front
	keys  map[string]*list.Element
}

type memoryEntry struct {
	key   string
	value []byte
}

func newMemory(most int) *memory {
	return &memory{most: most, order: list.New(), keys: map[string]*list.Element{}}
}

func (m *memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.keys[key]
	if !ok {
		return nil, nil
	}
	m.order.MoveToFront(e)
	return e.Value.(memoryEntry).value, nil
}

func (m *memory) Put(_ context.Context, key string, value []byte, _ time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old, ok := m.keys[key]; ok {
		m.drop(old)
	}
	if len(value) > m.most {
		return nil
	}
	m.keys[key] = m.order.PushFront(memoryEntry{key, value})
	m.size += len(value)
	for m.size > m.most {
		m.drop(m.order.Back())
	}
	return nil
}

func (m *memory) drop(e *list.Element) {
	entry := m.order.Remove(e).(memoryEntry)
	delete(m.keys, entry.key)
	m.size -= len(entry.value)
}
