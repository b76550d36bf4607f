package index

import (
	"container/list"
	"context"
	"sync"
	"time"
)

// memoryCache is the default Cache: an LRU cache in memory. It ignores the ttl, because the
// values are facts about the content of a file.
type memoryCache struct {
	mu    sync.Mutex
	most  int // bytes
	size  int
	order *list.List // *memoryEntry, most recently used first
	keys  map[string]*list.Element
}

type memoryEntry struct {
	key   string
	value []byte
}

func newMemoryCache(most int) *memoryCache {
	return &memoryCache{most: most, order: list.New(), keys: map[string]*list.Element{}}
}

func (m *memoryCache) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.keys[key]
	if !ok {
		return nil, nil
	}
	m.order.MoveToFront(e)
	return e.Value.(memoryEntry).value, nil
}

func (m *memoryCache) Put(_ context.Context, key string, value []byte, _ time.Duration) error {
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

func (m *memoryCache) drop(e *list.Element) {
	entry := m.order.Remove(e).(memoryEntry)
	delete(m.keys, entry.key)
	m.size -= len(entry.value)
}
