namespace shapes {
enum class Mode : unsigned char { A, B };
struct Base {
	virtual ~Base();
	virtual int run(int) = 0;
	virtual void stop();
};
struct Other { virtual ~Other(); int o; };
template <class T> struct Box { T value; T get() const; };
class Thing : public Base, public virtual Other {
public:
	explicit Thing(Mode m);
	Thing(const Thing &t);
	~Thing() override;
	int run(int) override;
	struct Pos { int line : 20, column : 12; };
	Pos pos() const;
	static int count;
	int small() const { return o; }
private:
	class Impl;
	Impl *impl;
	Box<int> box;
	Mode mode;
};
struct Thing::Impl { int a; };
Base::~Base() {}
void Base::stop() {}
Other::~Other() {}
int Thing::count = 0;
Thing::Thing(Mode m) : mode(m) { count++; }
Thing::Thing(const Thing &t) : Base(t), Other(t), mode(t.mode) {}
Thing::~Thing() {}
int Thing::run(int a) { return a + small(); }
Thing::Pos Thing::pos() const { return {1, impl->a}; }
template <class T> T Box<T>::get() const { return value; }
template struct Box<long>;
int total(const Thing *first, unsigned long n) { int s = 0; for (; n--; first++) s += first->o; return s; }
}
void operator delete(void *, unsigned long) noexcept {}
