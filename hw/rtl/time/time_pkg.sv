// What a time is: TAI since 1970-01-01 00:00:00, the epoch of PTP (IEEE 1588-2019, 7.3).
package time_pkg;

  localparam int unsigned SECOND_NS = 1_000_000_000;

  // As PTP writes it, with a fraction of a ns
  typedef struct packed {
    logic [47:0] seconds;
    logic [29:0] ns;        // below SECOND_NS
    logic [31:0] fraction;  // 2^-32 ns
  } time_t;

  // Counted through, as stamps are
  typedef struct packed {
    logic [63:0] ns;
    logic [15:0] fraction;  // 2^-16 ns
  } tai_t;

  // How far a cycle goes, in 2^-32 ns
  typedef struct packed {
    logic [39:0] period;
    logic [31:0] adjust;       // signed
    logic [15:0] numerator;    // on average numerator / denominator farther, below 1
    logic [15:0] denominator;
    logic [31:0] slew_rate;    // a slew moves by at most so much every 16 cycles
  } rate_t;

endpackage
