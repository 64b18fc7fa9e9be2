// Parameters of DCQCN. Model: dcqcn.DcqcnSettings.
package dcqcn_pkg;

  typedef struct packed {
    logic        enabled;       // else all QPs have their own rates
    logic [23:0] line;          // of a QP that has no limit of its own; rates are in 2^-16 bytes of the line a cycle
    logic [23:0] minimum;
    logic [23:0] additive;
    logic [23:0] hyper;
    logic [15:0] alpha_period;  // ticks
    logic [15:0] rise_period;
    logic [4:0]  bytes_log2;
    logic [3:0]  gain_log2;
    logic [3:0]  fast_rounds;
  } dcqcn_t;

endpackage
