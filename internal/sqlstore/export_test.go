package sqlstore

// Driver is the database of a store.
func (s *Store) Driver() Driver { return s.d }

// FewPending is the number of pending tasks below which a list reads them all.
const FewPending = fewPending
