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

  // An event that was stamped, and how many there were
  typedef struct packed {
    logic [15:0] count;
    tai_t        tai;
  } event_t;

  // What the registers tell the time unit; periods in 2^-24 ns, latencies in 2^-16 ns, signed
  typedef struct packed {
    rate_t       rate;
    time_t       value;
    logic        set;              // pulses
    logic        step;
    logic [63:0] amount;
    logic        slew;             // pulse
    logic        pps;
    logic [1:0]  frames;
    logic [31:0] own_period;
    logic [31:0] rx_period;
    logic [31:0] rx_latency;
    logic [31:0] tx_period;
    logic [31:0] tx_latency;
    logic [31:0] pixel_period;
    logic [31:0] pixel_latency;
    logic [31:0] trigger_latency;
    logic [31:0] pps_latency;
    logic        receive;
    logic        next;             // pulses
    logic        send;
    logic [7:0]  bytes;            // of the message to send
    logic        word_write;
    logic [4:0]  word_index;       // of a word that is written, or read
    logic [31:0] word;
  } time_control_t;

  // What the time unit tells the registers
  typedef struct packed {
    time_t       now;
    logic        stepping;
    logic        slewing;
    logic        sending;
    event_t      trigger;
    event_t      pps;
    logic        rx_valid;
    logic [7:0]  rx_bytes;
    tai_t        rx;
    logic [15:0] rx_lost;
    logic [31:0] rx_word;          // three cycles after its index
    event_t      tx;
  } time_report_t;

endpackage
