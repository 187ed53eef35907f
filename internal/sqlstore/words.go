package sqlstore

// words hold the texts of many rows together, as bytes.
type words struct {
	b    []byte
	more int // bytes by which the buffer grows
}

// newWords makes words with room for n rows.
func newWords(rows int) words { return words{more: min(max(rows, 1)*128, 64<<10)} }

func (w *words) bytes(text string) []byte {
	if cap(w.b)-len(w.b) < len(text) || w.b == nil {
		w.b = make([]byte, 0, max(w.more, len(text)))
	}
	begin := len(w.b)
	w.b = append(w.b, text...)
	return w.b[begin:len(w.b):len(w.b)]
}

// orNull is bytes, but NULL for an empty text.
func (w *words) orNull(text string) []byte {
	if text == "" {
		return nil
	}
	return w.bytes(text)
}

// orNull returns a text as the value of a column; NULL if it is empty.
func orNull(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
