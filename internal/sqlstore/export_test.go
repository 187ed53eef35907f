package sqlstore

// Driver is the database of a store.
func (s *Store) Driver() Driver { return s.d }
