// DCQCN, the sender's side (SIGCOMM 2015, section 3): the rate of a QP falls with every congestion notification, and rises
// again. QPs are looked at in turn, ten cycles each, 256 of them in 10 us at 250 MHz: shorter periods are not kept. At most
// one thing happens to a QP in its turn, beside alpha's decay.
module dcqcn
  import dcqcn_pkg::*;
#(
    parameter int unsigned NumQp = 16
) (
    input logic clk,
    input logic rst,

    input dcqcn_t settings_i,  // stable while enabled
    input logic   tick_i,      // pulse, about once a microsecond

    // A QP is written: its own rate, 0 for no limit
    input logic        write_i,
    input logic [ 7:0] write_index_i,
    input logic [23:0] write_rate_i,

    // A congestion notification for a QP; several until its turn count as one
    input logic       cnp_i,
    input logic [7:0] cnp_index_i,

    // A packet of a QP starts
    input logic        spend_i,
    input logic [ 7:0] spend_index_i,
    input logic [12:0] spend_bytes_i,

    // Rates that change, 0 for no limit
    output logic [ 7:0] m_axis_rate_index,
    output logic [23:0] m_axis_rate_tdata,
    output logic        m_axis_rate_tvalid,
    input  logic        m_axis_rate_tready
);

  localparam int unsigned INDEX_W = $clog2(NumQp);
  localparam int unsigned ALPHA_BITS = 16;
  localparam int unsigned DIGIT = 4;  // bits of alpha in a step, the first of which has one more
  localparam logic [ALPHA_BITS:0] ALPHA_ONE = {1'b1, ALPHA_BITS'(0)};
  localparam logic [3:0] MOST_ROUNDS = 4'd15;

  typedef logic [INDEX_W-1:0] index_t;

  function automatic logic exists(input logic [7:0] index);
    return 9'(index) < 9'(NumQp);
  endfunction

  // Model: dcqcn.Books; its `line` is the QP's own rate or that of the settings.
  typedef struct packed {
    logic [23:0]         current;
    logic [23:0]         target;
    logic [ALPHA_BITS:0] alpha;
    logic [15:0]         alpha_at;
    logic [15:0]         rise_at;
    logic [31:0]         bytes_at;
    logic [3:0]          time_rounds;
    logic [3:0]          byte_rounds;
    logic                cut;
  } books_t;

  books_t books[NumQp];
  logic [23:0] own[NumQp];  // as written; read for QPs that were, others have none
  logic [31:0] spent[NumQp] = '{default: '0};  // only differences count: a reset leaves them
  logic [NumQp-1:0] known_q, fresh_q, notified_q;

  always_ff @(posedge clk) begin
    if (write_i && exists(write_index_i)) own[index_t'(write_index_i)] <= write_rate_i;
    if (spend_i && exists(spend_index_i)) begin
      spent[index_t'(spend_index_i)] <= spent[index_t'(spend_index_i)] + 32'(spend_bytes_i);
    end
  end

  typedef enum logic [2:0] {
    LOOK,   // the QP's books
    SINCE,  // how much has passed
    AGE,    // what is due
    SCALE,  // how much it is cut, four bits of alpha at a time; how many rounds are over
    RISE,   // its new target, what a cut leaves
    STEP,   // its new rate
    STORE   // waits until the new rate is taken
  } state_e;

  state_e state_q;
  index_t index_q;
  books_t books_q, aged, stepped, stepped_q;
  logic [15:0] now_q, alpha_since_q, rise_since_q;
  logic [31:0] spent_q, bytes_since_q;
  logic [23:0] own_q, line, line_q, slower_q, least, least_q;
  logic fresh_now_q, notified_now_q, enabled_q;
  logic alpha_due, time_due, bytes_due, time_due_q, bytes_due_q;
  logic [ALPHA_BITS:0] decayed;
  logic [40:0] product, product_q;
  logic [ALPHA_BITS:0] digits_q;  // those of alpha that are left
  logic [DIGIT:0] digit;
  logic [ALPHA_BITS/DIGIT-1:0] steps_q;
  logic [24:0] target;
  logic [23:0] target_q, halfway;
  logic [3:0] time_rounds, byte_rounds, time_rounds_q, byte_rounds_q;
  logic hyper_q, additive_q;

  assign line = own_q == '0 ? settings_i.line : own_q;
  assign least = settings_i.minimum < line_q ? settings_i.minimum : line_q;

  // Due: in AGE, from the books as they were.
  assign alpha_due = alpha_since_q >= settings_i.alpha_period;
  assign time_due = rise_since_q >= settings_i.rise_period;
  assign bytes_due = (bytes_since_q >> settings_i.bytes_log2) != '0;

  assign decayed = books_q.alpha - (books_q.alpha >> settings_i.gain_log2);

  always_comb begin
    aged = books_q;
    if (fresh_now_q) begin
      aged = '{
          current: line,
          target: line,
          alpha: ALPHA_ONE,
          alpha_at: now_q,
          rise_at: now_q,
          bytes_at: spent_q,
          time_rounds: '0,
          byte_rounds: '0,
          cut: 1'b0
      };
    end else if (alpha_due && !notified_now_q) begin
      aged.alpha = decayed;
      aged.alpha_at = now_q;
    end
  end

  // The cut: half of alpha's share. SCALE multiplies, RISE subtracts.
  assign digit   = digits_q[ALPHA_BITS-:DIGIT+1];
  assign product = (product_q << DIGIT) + 41'(books_q.current) * 41'(digit);

  // A round: the way to the target is halved, and later the target rises.
  function automatic logic [3:0] one_more(input logic [3:0] rounds, input logic due);
    return due && rounds != MOST_ROUNDS ? rounds + 1'b1 : rounds;
  endfunction

  assign time_rounds = one_more(books_q.time_rounds, time_due_q);
  assign byte_rounds = one_more(books_q.byte_rounds, bytes_due_q && !time_due_q);
  assign halfway = 24'((26'(books_q.current) + 26'(target_q) + 26'd1) >> 1);

  always_comb begin
    target = 25'(books_q.target);
    if (hyper_q) target += 25'(settings_i.hyper);
    else if (additive_q) target += 25'(settings_i.additive);
    if (target > 25'(line_q)) target = 25'(line_q);
  end

  always_comb begin
    stepped = books_q;
    if (notified_now_q) begin
      stepped = '{
          current: slower_q < least_q ? least_q : slower_q,
          target: books_q.current,
          alpha: decayed + (ALPHA_ONE >> settings_i.gain_log2),
          alpha_at: now_q,
          rise_at: now_q,
          bytes_at: spent_q,
          time_rounds: '0,
          byte_rounds: '0,
          cut: 1'b1
      };
    end else if (!books_q.cut) begin
      stepped.rise_at  = now_q;
      stepped.bytes_at = spent_q;
    end else if (time_due_q || bytes_due_q) begin
      stepped.current = halfway;
      stepped.target = target_q;
      stepped.cut = halfway < line_q;
      stepped.time_rounds = time_rounds_q;
      stepped.byte_rounds = byte_rounds_q;
      if (time_due_q) stepped.rise_at = now_q;
      else stepped.bytes_at = spent_q;
    end
  end

  logic told, fresh_seen_q;
  logic [15:0] clock_q;  // ticks
  assign told = !m_axis_rate_tvalid || m_axis_rate_tready;

  always_ff @(posedge clk) begin
    clock_q   <= clock_q + 16'(tick_i);
    enabled_q <= settings_i.enabled;
    if (m_axis_rate_tready) m_axis_rate_tvalid <= 1'b0;
    unique case (state_q)
      LOOK: begin
        books_q <= books[index_q];
        own_q <= known_q[index_q] ? own[index_q] : '0;
        spent_q <= spent[index_q];
        now_q <= clock_q;
        fresh_seen_q <= fresh_q[index_q];
        fresh_now_q <= fresh_q[index_q] || !settings_i.enabled;
        notified_now_q <= notified_q[index_q] && !fresh_q[index_q];
        fresh_q[index_q] <= 1'b0;
        notified_q[index_q] <= 1'b0;
        state_q <= SINCE;
      end
      SINCE: begin
        alpha_since_q <= now_q - books_q.alpha_at;
        rise_since_q <= now_q - books_q.rise_at;
        bytes_since_q <= spent_q - books_q.bytes_at;
        state_q <= AGE;
      end
      AGE: begin
        books_q <= aged;
        line_q <= line;
        time_due_q <= time_due && !fresh_now_q;
        bytes_due_q <= bytes_due && !fresh_now_q;
        product_q <= '0;
        digits_q <= aged.alpha;
        steps_q <= '1;
        state_q <= SCALE;
      end
      SCALE: begin
        product_q <= product;
        digits_q <= {1'b0, digits_q[ALPHA_BITS-DIGIT-1:0], DIGIT'(0)};
        steps_q <= steps_q << 1;
        time_rounds_q <= time_rounds;
        byte_rounds_q <= byte_rounds;
        hyper_q <= time_rounds > settings_i.fast_rounds && byte_rounds > settings_i.fast_rounds;
        additive_q <= time_rounds >= settings_i.fast_rounds || byte_rounds >= settings_i.fast_rounds;
        if (!steps_q[ALPHA_BITS/DIGIT-2]) state_q <= RISE;
      end
      RISE: begin
        target_q <= target[23:0];
        least_q  <= least;
        slower_q <= books_q.current - 24'(product_q >> (ALPHA_BITS + 1));
        state_q  <= STEP;
      end
      STEP: begin
        stepped_q <= stepped;
        state_q   <= STORE;
      end
      default:
      if (told) begin
        books[index_q] <= stepped_q;
        m_axis_rate_tvalid <= fresh_seen_q || stepped_q.current != books_q.current || stepped_q.cut != books_q.cut;
        m_axis_rate_index <= 8'(index_q);
        m_axis_rate_tdata <= stepped_q.cut ? stepped_q.current : own_q;
        index_q <= index_q + 1'b1;
        state_q <= LOOK;
      end
    endcase
    if (cnp_i && exists(cnp_index_i) && settings_i.enabled)
      notified_q[index_t'(cnp_index_i)] <= 1'b1;
    if (enabled_q && !settings_i.enabled) begin
      fresh_q <= '1;
      notified_q <= '0;
    end
    if (write_i && exists(write_index_i)) begin
      known_q[index_t'(write_index_i)] <= 1'b1;
      fresh_q[index_t'(write_index_i)] <= 1'b1;
    end
    if (rst) begin
      state_q <= LOOK;
      index_q <= '0;
      clock_q <= '0;
      enabled_q <= 1'b0;
      known_q <= '0;
      fresh_q <= '1;
      notified_q <= '0;
      m_axis_rate_tvalid <= 1'b0;
    end
  end

endmodule
