struct point {
  int x;
#ifdef GROWN
  int z;
#endif
  int y;
};
enum color { RED, GREEN };
int norm(struct point *p, const char *name, ...) { return p->x * p->y + *name; }
enum color paint(enum color c, double (*f)(long)) { return f(1) > 0 ? c : RED; }
