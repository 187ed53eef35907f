package bill

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// A spool sorts records by their keys in bounded memory: it collects records in a buffer, writes
// each full buffer to one temporary file as a sorted run, and merges the runs when it is read.
// Records with one key keep the order in which they were added. It is not safe for concurrent use.
type spool struct {
	dir    string
	limit  int    // of buffer and index, in bytes
	buffer []byte // records, one after another: lengths of key and value, key, value
	index  []entry
	file   *tempFile // nil until the first buffer is full
	size   int64     // of file
	runs   []int64   // where each run of file begins
}

// An entry is a record in the buffer.
type entry struct {
	prefix uint64 // the first bytes of the key, for quick comparison
	at     uint32 // where the record is
	key    uint32 // where its key is
	value  uint32 // where its value is, the end of its key
	end    uint32
}

const entryBytes = 24

// newSpool returns a spool that keeps temporary data in dir and uses about limit bytes of memory.
func newSpool(dir string, limit int) *spool { return &spool{dir: dir, limit: limit} }

// add adds a record. Its key has two parts.
func (s *spool) add(first, key string, value []byte) error {
	if len(s.index) > 0 && len(s.buffer)+len(first)+len(key)+len(value)+2*binary.MaxVarintLen32+entryBytes*(len(s.index)+1) > s.limit {
		if err := s.flush(); err != nil {
			return err
		}
	}
	e := entry{at: uint32(len(s.buffer))}
	s.buffer = binary.AppendUvarint(s.buffer, uint64(len(first)+len(key)))
	s.buffer = binary.AppendUvarint(s.buffer, uint64(len(value)))
	e.key = uint32(len(s.buffer))
	s.buffer = append(s.buffer, first...)
	s.buffer = append(s.buffer, key...)
	e.value = uint32(len(s.buffer))
	s.buffer = append(s.buffer, value...)
	e.end = uint32(len(s.buffer))
	var begin [8]byte
	copy(begin[:], s.buffer[e.key:e.value])
	e.prefix = binary.BigEndian.Uint64(begin[:])
	s.index = append(s.index, e)
	return nil
}

// sort sorts the index.
func (s *spool) sort() {
	slices.SortFunc(s.index, func(a, b entry) int {
		if c := cmp.Compare(a.prefix, b.prefix); c != 0 {
			return c
		}
		if c := bytes.Compare(s.buffer[a.key:a.value], s.buffer[b.key:b.value]); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
}

// flush writes the buffer to the file as a run.
func (s *spool) flush() (err error) {
	if s.file == nil {
		if s.file, err = newTempFile(s.dir); err != nil {
			return err
		}
	}
	s.sort()
	w := bufio.NewWriterSize(s.file, 64<<10)
	s.runs = append(s.runs, s.size)
	for _, e := range s.index {
		if _, err := w.Write(s.buffer[e.at:e.end]); err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		s.size += int64(e.end - e.at)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	s.buffer, s.index = s.buffer[:0], s.index[:0]
	return nil
}

// close removes the temporary file.
func (s *spool) close() {
	if s.file != nil {
		s.file.remove()
	}
}

// A record is a key and its value. Both are valid until the next record.
type record struct{ key, value []byte }

// all yields all records in the order of their keys. Nothing may be added meanwhile.
func (s *spool) all() iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		if s.file == nil { // everything fits into the buffer
			s.sort()
			for _, e := range s.index {
				if !yield(record{s.buffer[e.key:e.value], s.buffer[e.value:e.end]}, nil) {
					return
				}
			}
			return
		}
		if err := s.merge(yield); err != nil && !errors.Is(err, errStopped) {
			yield(record{}, fmt.Errorf("temporary file: %w", err))
		}
	}
}

func (s *spool) merge(yield func(record, error) bool) error {
	if err := s.flush(); err != nil {
		return err
	}
	s.buffer, s.index = nil, nil
	// All runs together may buffer as much as the spool did, if that gives each enough to read
	// well.
	size := min(max(s.limit/len(s.runs), 4<<10), 256<<10)
	var h runs
	for i, begin := range s.runs {
		end := s.size
		if i+1 < len(s.runs) {
			end = s.runs[i+1]
		}
		r := &run{number: i, in: bufio.NewReaderSize(io.NewSectionReader(s.file, begin, end-begin), size)}
		switch err := r.next(); {
		case err == nil:
			h = append(h, r)
		case !errors.Is(err, io.EOF):
			return err
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		r := h[0]
		if !yield(record{r.key, r.value}, nil) {
			return errStopped
		}
		switch err := r.next(); {
		case err == nil:
			heap.Fix(&h, 0)
		case errors.Is(err, io.EOF):
			heap.Pop(&h)
		default:
			return err
		}
	}
	return nil
}

// A run is a sorted part of the file while it is read.
type run struct {
	number     int
	in         *bufio.Reader
	buffer     []byte
	key, value []byte
}

// next reads the next record; io.EOF: there is none.
func (r *run) next() error {
	key, err := binary.ReadUvarint(r.in)
	if err != nil {
		return err
	}
	value, err := binary.ReadUvarint(r.in)
	if err != nil {
		return unexpected(err)
	}
	n := int(key + value)
	r.buffer = slices.Grow(r.buffer[:0], n)[:n]
	if _, err := io.ReadFull(r.in, r.buffer); err != nil {
		return unexpected(err)
	}
	r.key, r.value = r.buffer[:key], r.buffer[key:]
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// runs are a heap by key and number.
type runs []*run

func (h runs) Len() int      { return len(h) }
func (h runs) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runs) Push(x any)   { *h = append(*h, x.(*run)) }
func (h runs) Less(i, j int) bool {
	if c := bytes.Compare(h[i].key, h[j].key); c != 0 {
		return c < 0
	}
	return h[i].number < h[j].number
}

func (h *runs) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}
