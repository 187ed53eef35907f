package postgres

import (
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/internal/sqlstore"
)

// Arguments and rows are in PostgreSQL's binary format, which this file encodes and decodes. pgx
// would convert each value of an array by reflection; that took a tenth of the CPU time of a busy
// node.

// appendArgument appends the value of a parameter of type oid.
func appendArgument(b []byte, oid uint32, value any) ([]byte, error) {
	switch v := value.(type) {
	case int64:
		switch oid {
		case pgtype.Int8OID:
			return binary.BigEndian.AppendUint64(b, uint64(v)), nil
		case pgtype.Int4OID:
			if int64(int32(v)) == v {
				return binary.BigEndian.AppendUint32(b, uint32(v)), nil
			}
		case pgtype.Int2OID:
			if int64(int16(v)) == v {
				return binary.BigEndian.AppendUint16(b, uint16(v)), nil
			}
		}
	case bellman.ID:
		if oid == pgtype.UUIDOID {
			return append(b, v[:]...), nil
		}
	case []byte:
		if oid == pgtype.ByteaOID {
			return append(b, v...), nil
		}
	case string:
		if oid == pgtype.TextOID {
			return append(b, v...), nil
		}
	case []bellman.ID:
		if oid == pgtype.UUIDArrayOID {
			b = appendArray(b, len(v), pgtype.UUIDOID, false)
			for i := range v {
				b = append(binary.BigEndian.AppendUint32(b, uint32(len(v[i]))), v[i][:]...)
			}
			return b, nil
		}
	case []int64:
		if oid == pgtype.Int8ArrayOID {
			b = appendArray(b, len(v), pgtype.Int8OID, false)
			for _, n := range v {
				b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 8), uint64(n))
			}
			return b, nil
		}
	case [][]byte:
		if oid == pgtype.ByteaArrayOID {
			null := false
			for i := range v {
				null = null || v[i] == nil
			}
			b = appendArray(b, len(v), pgtype.ByteaOID, null)
			for _, text := range v {
				if text == nil {
					b = binary.BigEndian.AppendUint32(b, ^uint32(0))
					continue
				}
				b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
			}
			return b, nil
		}
	}
	return b, fmt.Errorf("an argument of type %T for a parameter of type %d, or out of its range", value, oid)
}

// appendArray appends the header of an array of n values: the number of dimensions, whether a value
// is NULL, the type, the length, and the first index.
func appendArray(b []byte, n int, oid uint32, null bool) []byte {
	dimensions, nulls := uint32(1), uint32(0)
	if n == 0 {
		dimensions = 0
	}
	if null {
		nulls = 1
	}
	b = binary.BigEndian.AppendUint32(b, dimensions)
	b = binary.BigEndian.AppendUint32(b, nulls)
	b = binary.BigEndian.AppendUint32(b, oid)
	if n > 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		b = binary.BigEndian.AppendUint32(b, 1)
	}
	return b
}

// A rawRow is a row in binary format. Scanned bytes belong to the row and are valid until the next
// row is read.
type rawRow [][]byte

var _ sqlstore.Row = (*rawRow)(nil)

func (r *rawRow) Scan(dest ...any) error {
	if len(dest) != len(*r) {
		return fmt.Errorf("%d columns into %d values", len(*r), len(dest))
	}
	for i, value := range *r {
		switch to := dest[i].(type) {
		case *[]byte:
			*to = value
			continue
		case *int64:
			switch len(value) {
			case 8:
				*to = int64(binary.BigEndian.Uint64(value))
				continue
			case 4:
				*to = int64(int32(binary.BigEndian.Uint32(value)))
				continue
			case 2:
				*to = int64(int16(binary.BigEndian.Uint16(value)))
				continue
			}
		case *bellman.ID:
			if len(value) == len(to) {
				copy(to[:], value)
				continue
			}
		case *string:
			if value != nil {
				*to = string(value)
				continue
			}
		}
		return fmt.Errorf("column %d, of %d bytes (NULL: %t), into a %T", i+1, len(value), value == nil, dest[i])
	}
	return nil
}
