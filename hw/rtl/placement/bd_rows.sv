// Rows to descriptors: one transfer a row, one a clock, longer ones split; then the trailer's descriptor and its contents.
module bd_rows
  import framelane_pkg::*;
(
    input logic clk,
    input logic rst,

    // Rectangles with all their addresses, and ends of frames
    input  placed_t s_axis_placed_tdata,
    input  logic    s_axis_placed_tvalid,
    output logic    s_axis_placed_tready,

    // Path MTU of a QP, answered in the same cycle
    output logic [7:0] mtu_index_o,
    input  logic [3:0] mtu_log2_i,

    // Descriptors, to the memory reader and the packetizer
    output bd_t  m_axis_bd_tdata,
    output logic m_axis_bd_tvalid,
    input  logic m_axis_bd_tready,

    // Contents of the trailers, in the order of their descriptors
    output trailer_t m_axis_trailer_tdata,
    output logic     m_axis_trailer_tvalid,
    input  logic     m_axis_trailer_tready,

    // Ends of frames: descriptors up to there, modulo 2^16
    output logic [15:0] m_axis_over_tdata,
    output logic        m_axis_over_tvalid,
    input  logic        m_axis_over_tready,

    output logic idle_o
);

  localparam logic [31:0] TRAILER_BYTES = 32'd64;

  typedef enum logic [2:0] {
    IDLE,     // waits for a rectangle
    LOOK,     // the MTU is looked up
    ROWS,     // offers the transfers
    TRAILER,  // offers the trailer's descriptor and contents
    OVER,     // offers the end of a frame
    DONE      // lets go of the rectangle
  } state_e;

  state_e state_q, state_d;
  (* keep, dont_merge *)logic [1:0] begins_q, looks_q;  // the state is IDLE, LOOK: for the source, the destination
  (* keep, dont_merge *)logic [1:0] trails_q;  // the state is TRAILER: for both of these, for the rest
  placed_t placed;  // stays until its last step
  logic [63:0] source_q, destination_q, next_source_q, next_destination_q;  // of the transfer, of the next row
  logic [31:0] length_q, rest_q;  // bytes of the transfer, of the row behind it
  logic row_ends_q, last_row_q;
  logic [15:0] rows_q, offered_q;
  logic taken, bd_done_q, contents_done_q, bd_done, contents_done;

  // How every row begins
  logic [31:0] first_length, first_length_q, first_rest, first_rest_q;
  logic first_ends, first_ends_q;

  assign placed = s_axis_placed_tdata;
  assign first_ends = placed.row_bytes <= placed.max_length;
  assign first_length = first_ends ? placed.row_bytes : placed.max_length;
  assign first_rest = placed.row_bytes - placed.max_length;
  assign taken = m_axis_bd_tvalid && m_axis_bd_tready;
  assign bd_done = bd_done_q || taken;
  assign contents_done = contents_done_q || (m_axis_trailer_tvalid && m_axis_trailer_tready);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (s_axis_placed_tvalid) state_d = s_axis_placed_tdata.over ? OVER : LOOK;
      LOOK: state_d = ROWS;
      ROWS: if (taken && row_ends_q && last_row_q) state_d = TRAILER;
      TRAILER: if (bd_done && contents_done) state_d = DONE;
      OVER: if (m_axis_over_tready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    bd_done_q <= state_q == TRAILER && bd_done;
    contents_done_q <= state_q == TRAILER && contents_done;
    if (taken) offered_q <= offered_q + 1'b1;
    for (int unsigned c = 0; c < 2; c++) begin
      // Each from itself: tools make one of equal ones.
      trails_q[c] <= trails_q[c] ? !bd_done || !contents_done : state_q == ROWS && taken && row_ends_q && last_row_q;
      begins_q[c] <= begins_q[c] ? !s_axis_placed_tvalid : s_axis_placed_tready;
      looks_q[c]  <= state_q == IDLE && s_axis_placed_tvalid && !placed.over && !looks_q[c];
    end
    // What is taken with the trailer changes them too, behind their last use.
    if (begins_q[0]) source_q <= placed.source;
    else if (taken) source_q <= row_ends_q ? next_source_q : source_q + 64'(length_q);
    if (begins_q[1]) destination_q <= placed.destination;
    else if (taken) destination_q <= row_ends_q ? next_destination_q : destination_q + 64'(length_q);
    if (looks_q[0] || (taken && row_ends_q)) begin
      next_source_q <= (looks_q[0] ? source_q : next_source_q) + 64'(placed.source_pitch);
    end
    if (looks_q[1] || (taken && row_ends_q)) begin
      next_destination_q <= (looks_q[1] ? destination_q : next_destination_q) + 64'(placed.destination_pitch);
    end
    unique case (state_q)
      IDLE: begin
        rows_q <= s_axis_placed_tdata.rows;
        last_row_q <= s_axis_placed_tdata.rows == 16'd1;
      end
      LOOK: begin
        first_length_q <= first_length;
        first_rest_q <= first_rest;
        first_ends_q <= first_ends;
        length_q <= first_length;
        rest_q <= first_rest;
        row_ends_q <= first_ends;
      end
      ROWS:
      if (taken) begin
        if (row_ends_q) begin
          length_q <= first_length_q;
          rest_q <= first_rest_q;
          row_ends_q <= first_ends_q;
          rows_q <= rows_q - 1'b1;
          last_row_q <= rows_q == 16'd2;
        end else begin
          length_q <= rest_q <= placed.max_length ? rest_q : placed.max_length;
          rest_q <= rest_q - placed.max_length;
          row_ends_q <= rest_q <= placed.max_length;
        end
      end
      default: ;
    endcase
    if (rst) begin
      state_q   <= IDLE;
      trails_q  <= '0;
      begins_q  <= '1;
      looks_q   <= '0;
      offered_q <= '0;
    end
  end

  // Packets of the transfers that are taken: whole ones and a part of one, a cycle later added to those before.
  logic [31:0] packets, packets_q, whole_q;
  logic [14:0] mtu_mask_q;
  logic [3:0] mtu_log2_q;
  logic part_q;

  assign packets = packets_q + whole_q + 32'(part_q);

  always_ff @(posedge clk) begin
    if (state_q == LOOK) begin
      mtu_log2_q <= mtu_log2_i;
      mtu_mask_q <= ~(~15'd0 << mtu_log2_i);
    end
    packets_q <= packets;
    whole_q <= length_q >> mtu_log2_q;
    part_q <= (length_q[14:0] & mtu_mask_q) != '0;
    if (state_q != ROWS || !taken) begin
      whole_q <= '0;
      part_q  <= 1'b0;
    end
    if (state_q == LOOK) packets_q <= '0;
  end

  // A rectangle goes in the cycle behind its last step: whether that is done comes late.
  assign s_axis_placed_tready = state_q == DONE || (state_q == OVER && m_axis_over_tready);
  assign mtu_index_o = placed.qp;
  assign idle_o = state_q == IDLE;

  assign m_axis_bd_tvalid = state_q == ROWS || (state_q == TRAILER && !bd_done_q);
  assign m_axis_bd_tdata = '{
          imm: trails_q[1] ? {placed.trailer.source[7:0], placed.trailer.frame_number[23:0]} : '0,
          last: trails_q[1],
          destination_index: placed.destination_index,
          qp: placed.qp,
          length: trails_q[1] ? TRAILER_BYTES : length_q,
          destination: trails_q[0] ? placed.trailer_at : destination_q,
          source: trails_q[0] ? '0 : source_q
      };

  assign m_axis_trailer_tvalid = state_q == TRAILER && !contents_done_q;
  always_comb begin
    m_axis_trailer_tdata = placed.trailer;
    m_axis_trailer_tdata.packets = packets;
  end

  logic unused;
  assign unused = ^placed;

  assign m_axis_over_tvalid = state_q == OVER;
  assign m_axis_over_tdata = offered_q;

endmodule
