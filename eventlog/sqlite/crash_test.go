package sqlite

func child() {}
