// Where a frame goes: its destination among those of the flow, its slot and addresses; or why it is not sent. One step of
// arithmetic at a time, each by one of two serial units.
module bd_place
  import framelane_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned Destinations = 16
) (
    input logic clk,
    input logic rst,

    // Frames that a flow has taken, and ends of frames
    input  chosen_t s_axis_chosen_tdata,
    input  logic    s_axis_chosen_tvalid,
    output logic    s_axis_chosen_tready,

    // Destination table: the entry that was asked for a cycle before
    output logic         [7:0] destination_index_o,
    input  destination_t       destination_i,

    // Room for its descriptors in the QP: asked for, and answered three cycles later, before a frame is taken for it; then that it comes
    output logic [ 7:0] room_qp_o,
    output logic [15:0] room_wanted_o,
    input  logic        room_i,
    output logic        admit_o,        // pulse

    output placed_t m_axis_placed_tdata,
    output logic    m_axis_placed_tvalid,
    input  logic    m_axis_placed_tready,

    // Counters of the flow (selected, refused) and of the destination (dropped, skipped)
    output count_t m_axis_count_tdata,
    output logic   m_axis_count_tvalid,
    input  logic   m_axis_count_tready,

    output refusal_t refusal_o,
    output logic     refusal_valid_o,  // pulse
    output logic     idle_o
);

  if (Destinations < 1 || Destinations > 256) begin : gen_check
    $error("%m: Destinations = %0d must be 1 to 256", Destinations);
  end

  localparam logic [63:0] TRAILER_BYTES = 64'd64;
  localparam int unsigned INDEX_W = Destinations > 1 ? $clog2(Destinations) : 1;

  typedef enum logic [3:0] {
    IDLE,      // waits for a frame
    SELECTED,  // counts it for its flow
    BUNCH,     // bunches of frames before it, and its place in the bunch
    ROUND,     // rounds of all destinations before it, and which of them it is for
    INDEX,     // the destination's own number of the frame
    CHECK,     // compares it with the destination's next one; then: may the destination have it?
    SKIPPED,   // counts numbers that never came
    SLOT,      // the slot after the last, or number modulo slots
    OFFSET,    // of the rectangle in its slot
    FIT,       // where its last row begins
    CREDIT,    // is there any? And room in the QP?
    DROPPED,   // counts the frame that had none
    ADDRESS,   // of the slot
    SOURCE,    // of the rectangle in the memory
    TOTAL,     // bytes of the rectangle
    OFFER      // hands it on, or the end of a frame
  } state_e;

  // What is kept of a destination.
  typedef struct packed {
    logic [63:0] next;     // the number after that of its last frame
    logic [31:0] slot;     // of that number
    logic [63:0] dropped;  // frames that it did not get
  } known_t;

  state_e state_q, state_d;
  (* keep, dont_merge *)logic [1:0] index_q;  // the state is INDEX: twice, so that neither drives too much
  logic refused_q, refused_d;  // the frame ends here: to be counted, and reported
  refusal_e reason_q, reason_d;
  chosen_t chosen;  // stays until its last step
  flow_t flow;
  destination_t to_q;
  known_t known, known_q;
  known_t memory[Destinations];
  logic [Destinations-1:0] seen_q;
  logic [8:0] entry_q, entry;
  logic [8:0] kept_q;  // the same: the table of entries asks one, what is kept of each asks the other
  logic compared_q, backwards_q, is_next_q;  // since the cycle before
  logic seen, known_valid_q, consecutive_q, outside_table, fits, has_credit, write;
  logic [63:0] number_q, offset_q, address_q, source_q, gap, gap_q;
  logic [31:0] slot_q, slot_next_q, slot_after, row_bytes, total_q;

  // Of registers that stay as they are for steps before it is asked for: a cycle or two behind them
  logic within_q, trailer_fits_q, merged_q;
  logic [63:0] dropped_q, source_base_q, source_first_q;
  logic [32:0] beside_q;  // bytes of a slot beside a row; negative: the row is longer

  assign chosen = s_axis_chosen_tdata;
  assign flow = chosen.flow;
  assign row_bytes = 32'(flow.width) << (flow.wide ? 2 : 1);
  assign outside_table = entry_q >= 9'(Destinations);
  assign seen = !outside_table && seen_q[INDEX_W'(kept_q)];
  assign gap = number_q - known_q.next;
  assign slot_after = slot_next_q == to_q.n_slots ? '0 : slot_next_q;
  assign has_credit = within_q && room_i;
  assign room_qp_o = to_q.qp;
  assign room_wanted_o = flow.descriptors == '0 ? '1 : flow.descriptors;
  assign admit_o = state_q == CREDIT && !refused_q && has_credit;

  // The two serial units. A step that computes starts one in its first cycle, and goes on when that has ended.
  logic computes, began_q, ended, divide, divided, scale, scaled;
  logic [63:0] dividend, quotient, value, addend, result;
  logic [31:0] divisor, remainder, factor;

  assign entry = state_q == IDLE ? '0 : 9'(flow.first_destination) + 9'(remainder);

  serial_divide u_divide (
      .clk,
      .rst,
      .start_i    (divide && !began_q),
      .dividend_i (dividend),
      .divisor_i  (divisor),
      .done_o     (divided),
      .quotient_o (quotient),
      .remainder_o(remainder)
  );

  serial_scale u_scale (
      .clk,
      .rst,
      .start_i (scale && !began_q),
      .value_i (value),
      .factor_i(factor),
      .offset_i(addend),
      .done_o  (scaled),
      .result_o(result)
  );

  assign ended = began_q && divided && scaled;
  assign fits = !beside_q[32] && result <= 64'(beside_q[31:0]) && trailer_fits_q;

  always_ff @(posedge clk) begin
    within_q <= number_q < to_q.window_end;
    trailer_fits_q <= 64'(to_q.trailer_offset) + TRAILER_BYTES <= 64'(to_q.slot_bytes);
    slot_next_q <= slot_q + 1;
    dropped_q <= known_q.dropped + gap_q;
    beside_q <= 33'(to_q.slot_bytes) - 33'(row_bytes);
    source_base_q <= chosen.frame.address + 64'(flow.source_offset);
    source_first_q <= source_base_q + (64'(flow.x0) << (flow.wide ? 2 : 1));
    merged_q <= flow.height == 16'd1 || (row_bytes == flow.source_pitch && row_bytes == flow.destination_pitch);
  end

  always_comb begin
    computes = 1'b1;
    divide = 1'b0;
    dividend = number_q;
    divisor = flow.bunch;
    scale = 1'b0;
    value = '0;
    factor = '0;
    addend = '0;
    unique case (state_q)
      BUNCH: divide = 1'b1;
      ROUND: begin
        divide  = 1'b1;
        divisor = 32'(flow.destinations);
      end
      INDEX: begin
        scale  = 1'b1;
        value  = number_q;
        factor = flow.bunch;
        addend = offset_q;
      end
      SLOT: begin
        divide  = !consecutive_q;
        divisor = to_q.n_slots;
      end
      OFFSET: begin
        scale  = 1'b1;
        value  = 64'(flow.destination_pitch);
        factor = 32'(flow.y1);
        addend = 64'(flow.x1) << (flow.wide ? 2 : 1);
      end
      FIT: begin
        scale  = 1'b1;
        value  = 64'(flow.destination_pitch);
        factor = 32'(flow.height) - 1;
        addend = offset_q;
      end
      ADDRESS: begin
        scale  = 1'b1;
        value  = 64'(to_q.slot_bytes);
        factor = slot_q;
        addend = to_q.base;
      end
      SOURCE: begin
        scale  = 1'b1;
        value  = 64'(flow.source_pitch);
        factor = 32'(flow.y0);
        addend = source_first_q;
      end
      TOTAL: begin
        scale  = 1'b1;
        value  = 64'(row_bytes);
        factor = 32'(flow.height);
      end
      default: computes = 1'b0;
    endcase
  end

  always_comb begin
    state_d = state_q;
    refused_d = refused_q;
    reason_d = reason_q;
    unique case (state_q)
      IDLE: begin
        refused_d = s_axis_chosen_tdata.bad;
        reason_d  = BAD_FLOW;
        if (s_axis_chosen_tvalid) state_d = s_axis_chosen_tdata.over ? OFFER : SELECTED;
      end
      SELECTED: if (m_axis_count_tready) state_d = refused_q ? DROPPED : BUNCH;
      BUNCH: if (ended) state_d = ROUND;
      ROUND: if (ended) state_d = INDEX;
      INDEX: if (ended) state_d = CHECK;
      CHECK:
      if (compared_q) begin
        refused_d = 1'b1;
        state_d   = DROPPED;
        if (outside_table || !to_q.enabled || to_q.n_slots == '0) reason_d = BAD_DESTINATION;
        else if (backwards_q) reason_d = BACKWARDS;
        else begin
          refused_d = 1'b0;
          state_d   = is_next_q ? SLOT : SKIPPED;
        end
      end
      SKIPPED: if (m_axis_count_tready) state_d = SLOT;
      SLOT: if (ended) state_d = OFFSET;
      OFFSET: if (ended) state_d = FIT;
      FIT:
      if (ended) begin
        state_d = CREDIT;
        refused_d = !fits;
        reason_d = OUTSIDE;
      end
      CREDIT: state_d = refused_q || !has_credit ? DROPPED : ADDRESS;
      DROPPED: if (m_axis_count_tready) state_d = IDLE;
      ADDRESS: if (ended) state_d = SOURCE;
      SOURCE: if (ended) state_d = TOTAL;
      TOTAL: if (ended) state_d = OFFER;
      OFFER: if (m_axis_placed_tready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  assign write = state_q == CREDIT;
  assign known = '{
          next: number_q + 1,
          slot: slot_after,
          dropped: dropped_q + 64'(refused_q || !has_credit)
      };

  always_ff @(posedge clk) begin
    state_q   <= state_d;
    refused_q <= refused_d;
    reason_q  <= reason_d;
    began_q   <= computes && !ended;
    compared_q <= state_q == CHECK && !compared_q;
    backwards_q <= known_valid_q && number_q < known_q.next;
    is_next_q <= number_q == known_q.next;
    unique case (state_q)
      IDLE: begin
        number_q <= s_axis_chosen_tdata.index;
        entry_q  <= entry;
      end
      BUNCH:
      if (ended) begin
        number_q <= quotient;
        offset_q <= 64'(remainder);
      end
      ROUND:
      if (ended) begin
        number_q <= quotient;
        entry_q  <= entry;
      end
      INDEX: if (ended) number_q <= result;
      CHECK: begin
        gap_q <= gap;
        consecutive_q <= known_valid_q && number_q == known_q.next;
      end
      SLOT: if (ended) slot_q <= consecutive_q ? known_q.slot : remainder;
      OFFSET: if (ended) offset_q <= result;
      ADDRESS: if (ended) address_q <= result;
      SOURCE: if (ended) source_q <= result;
      TOTAL: if (ended) total_q <= result[31:0];
      default: ;
    endcase
    // It asks whether it changes: tools make one of equal ones.
    if ((state_q == IDLE || (state_q == ROUND && ended)) && kept_q != entry) kept_q <= entry;
    for (int unsigned c = 0; c < 2; c++) index_q[c] <= index_q[c] ? !ended : state_q == ROUND && ended;
    if (index_q[0]) to_q <= destination_i;  // asked for since the step before
    if (index_q[1]) begin
      known_q <= memory[INDEX_W'(kept_q)];
      if (!seen) known_q <= '0;  // numbers begin with 0
      known_valid_q <= seen;
    end
    if (write) begin
      memory[INDEX_W'(kept_q)] <= known;
      seen_q[INDEX_W'(kept_q)] <= 1'b1;
    end
    if (rst) begin
      state_q <= IDLE;
      compared_q <= 1'b0;
      index_q <= '0;
      kept_q  <= '0;
      seen_q  <= '0;
    end
  end

  assign destination_index_o = entry_q[7:0];
  assign s_axis_chosen_tready = (state_q == DROPPED && m_axis_count_tready) ||
      (state_q == OFFER && m_axis_placed_tready);
  assign idle_o = state_q == IDLE;
  assign refusal_valid_o = state_q == DROPPED && refused_q && m_axis_count_tready;
  assign refusal_o = '{
          number: chosen.frame.number,
          destination: entry_q[7:0],
          flow: chosen.id,
          reason: reason_q
      };

  assign m_axis_count_tvalid = state_q == SELECTED || state_q == SKIPPED || state_q == DROPPED;
  always_comb begin
    m_axis_count_tdata = '{amount: 64'd1, index: flow_counter(chosen.id, FLOW_SELECTED)};
    if (state_q == SKIPPED) begin
      m_axis_count_tdata.index = destination_counter(entry_q[7:0], DESTINATION_SKIPPED);
      m_axis_count_tdata.amount = gap_q;
    end else if (state_q == DROPPED && refused_q) begin
      m_axis_count_tdata.index = flow_counter(chosen.id, FLOW_REFUSED);
    end else if (state_q == DROPPED) begin
      m_axis_count_tdata.index = destination_counter(entry_q[7:0], DESTINATION_DROPPED);
    end
  end

  logic unused;
  assign unused = ^{chosen, flow, to_q};

  assign m_axis_placed_tvalid = state_q == OFFER;
  assign m_axis_placed_tdata = '{
          over: chosen.over,
          destination_index: entry_q[7:0],
          qp: to_q.qp,
          max_length: flow.max_length,
          rows: merged_q ? 16'd1 : flow.height,
          row_bytes: merged_q ? total_q : row_bytes,
          source_pitch: flow.source_pitch,
          destination_pitch: flow.destination_pitch,
          source: source_q,
          destination: address_q + offset_q,
          trailer_at: address_q + 64'(to_q.trailer_offset),
          trailer: '{
              time_flags: chosen.frame.time_flags,
              detector_frame: chosen.frame.number,
              frames_dropped: dropped_q,
              packets: '0,
              payload_bytes: total_q,
              bunch_id: chosen.frame.bunch_id,
              timestamp_ns: chosen.frame.timestamp_ns,
              frame_number: number_q,
              slot: slot_q,
              source: 16'(flow.source)
          }
      };

endmodule
