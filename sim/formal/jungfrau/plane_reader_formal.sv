// plane_reader asks for nothing that it has no room for: what the memory gives is taken in the same cycle, whatever the sink does. It
// asks for the piece again and again, for no beat outside of it, and gives as many packets of so many beats.
module plane_reader_formal
  import axi_pkg::*;
#(
    parameter int unsigned DataW = 64,
    parameter int unsigned AddrW = 32,
    parameter int unsigned Depth = 8,
    parameter int unsigned MaxBurst = 4,

    localparam int unsigned LanesW = $clog2(DataW / 8),
    localparam int unsigned PtrW   = $clog2(Depth),
    localparam int unsigned CountW = $clog2(Depth + 3)
) (
    input logic clk,
    input logic rst,

    input logic             run_i,
    input logic [AddrW-1:0] base_i,
    input logic [     31:0] beats_i,

    input logic [DataW-1:0] m_axis_tdata,
    input logic             m_axis_tlast,
    input logic             m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input axi_read_request_t              m_axi_o,
    input axi_read_response_t             m_axi_i,
    input logic               [DataW-1:0] m_axi_rdata,

    input logic idle_o,

    input logic                    running_q,
    input logic [          PtrW:0] awaited_q,
    input logic [          PtrW:0] held_q,
    input logic [            31:0] left_q,
    input logic [            31:0] due_q,
    input logic [AddrW-LanesW-1:0] next_q,
    input logic [             7:0] len_q,
    input logic                    ask_q,
    input logic                    whole_q,
    input logic                    some_q,

    input logic [DataW+1:0] memory [Depth],
    input logic [   PtrW:0] write_q,
    input logic [   PtrW:0] read_q
);

  localparam int unsigned PAGE = 4096 / (DataW / 8);  // beats
  localparam int unsigned MOST = PAGE < MaxBurst ? PAGE : MaxBurst;
  typedef logic [CountW-1:0] count_t;
  typedef logic [AddrW-LanesW-1:0] beat_t;

  reset_rule u_reset (.*);

  // What is read does not change while run_i is high.
  logic fixed_q;
  logic [AddrW-1:0] base_q;
  logic [31:0] beats_q;

  always_ff @(posedge clk) begin
    fixed_q <= run_i && !rst;
    base_q  <= base_i;
    beats_q <= beats_i;
  end

  always_comb if (fixed_q) assume (base_i == base_q && beats_i == beats_q);

  logic asked, came, taken;
  count_t owed_q, behind, count, offered;  // that the memory owes; in block memory; inside; on offer to the memory
  logic [31:0] burst, place_q, after;  // beats of the piece before what is asked for next
  logic [31:0] rest_q;  // beats of the packet that have not left
  beat_t first, address;
  logic waited_q, asks_q;

  assign asked = m_axi_o.arvalid && m_axi_i.arready;
  assign came = m_axi_i.rvalid;
  assign taken = m_axis_tvalid && m_axis_tready;
  assign burst = 32'(m_axi_o.arlen) + 1'b1;
  assign behind = count_t'((PtrW + 1)'(write_q - read_q));
  assign offered = m_axi_o.arvalid ? count_t'(burst) : '0;
  assign first = {base_i[AddrW-1:12], (12 - LanesW)'(0)};
  assign address = m_axi_o.araddr[AddrW-1:LanesW];
  assign after = m_axi_o.arvalid ? (burst == beats_i - place_q ? '0 : place_q + burst) : place_q;

  always_ff @(posedge clk) begin
    owed_q <= owed_q + (asked ? count_t'(burst) : '0) - count_t'(came);
    if (asked) place_q <= after;
    if (taken) rest_q <= rest_q == 32'd1 ? beats_i : rest_q - 1'b1;
    waited_q <= running_q && count != '0 && !m_axis_tvalid;
    asks_q <= running_q && run_i && !m_axi_o.arvalid && beats_i != '0 && 32'(owed_q) + 32'(count) + MOST <= Depth;
    if (!running_q) begin
      place_q <= '0;
      rest_q  <= beats_i;
    end
    if (rst) begin
      owed_q   <= '0;
      place_q  <= '0;
      waited_q <= 1'b0;
      asks_q   <= 1'b0;
    end
  end

  always_comb assume (!came || owed_q != '0);

  hold_rule #(
      .DataW(8 + 64)
  ) u_hold_ask (
      .clk,
      .rst,
      .tdata_i ({m_axi_o.arlen, m_axi_o.araddr}),
      .tvalid_i(m_axi_o.arvalid),
      .tready_i(m_axi_i.arready)
  );

  hold_rule #(
      .DataW(DataW + 2)
  ) u_hold (
      .clk,
      .rst     (rst || !running_q),
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  // What is inside, oldest first, and with each beat how many of its packet are left
  logic [Depth:0][DataW+1:0] beats;
  logic [Depth:0][DataW:0] items;
  logic [Depth:0] right;  // each of them is the last one of its packet where it must be
  logic [Depth+1:0][31:0] rests;
  logic [31:0] rest;

  always_comb begin
    beats[0] = m_axis_tvalid ? {m_axis_tuser, m_axis_tlast, m_axis_tdata} : memory[read_q[PtrW-1:0]];
    for (int unsigned k = 1; k <= Depth; k++) begin
      beats[k] = memory[PtrW'(read_q + (PtrW + 1)'(k) - (PtrW + 1)'(m_axis_tvalid))];
    end
    rest = rest_q;
    for (int unsigned k = 0; k <= Depth; k++) begin
      items[k] = {beats[k][DataW+1], beats[k][DataW-1:0]};
      right[k] = k >= 32'(behind) + 32'(m_axis_tvalid) || beats[k][DataW] == (rest == 32'd1);
      rests[k] = rest;
      rest = rest == 32'd1 ? beats_i : rest - 1'b1;
    end
    rests[Depth+1] = rest;
  end

  queue_rule #(
      .DataW(DataW + 1),
      .Depth(Depth + 1)
  ) u_queue (
      .clk,
      .rst        (rst || !running_q),
      .push_data_i({m_axi_i.rresp != 2'b00, m_axi_rdata}),
      .push_i     (came),
      .pop_data_i ({m_axis_tuser, m_axis_tdata}),
      .pop_i      (taken),
      .count_o    (count),
      .held_i     (behind + count_t'(m_axis_tvalid)),
      .items_i    (items)
  );

  always_comb begin
    if (!rst) begin
      a_ready : assert (m_axi_o.rready || (owed_q == '0 && !m_axi_o.arvalid));
      a_idle : assert (!idle_o || (owed_q == '0 && !m_axi_o.arvalid));
      a_offers : assert (!m_axis_tvalid || count != '0 || !running_q);
      if (m_axi_o.arvalid) begin
        a_burst : assert (32'(m_axi_o.arlen) < MOST);
        a_page : assert (32'(address) % PAGE + burst <= PAGE);
      end
      if (m_axi_o.arvalid && running_q) begin
        a_piece : assert (place_q < beats_i && burst <= beats_i - place_q);
        a_place : assert (address == first + beat_t'(place_q));
      end
      if (running_q) a_within : assert (32'(owed_q) + 32'(offered) + 32'(count) <= Depth);
      if (m_axis_tvalid) a_last : assert (m_axis_tlast == (rest_q == 32'd1));
      if (waited_q && running_q) a_soon : assert (m_axis_tvalid);
      if (asks_q) a_asks : assert (m_axi_o.arvalid);

      i_memory : assert (32'(behind) <= Depth);
      i_full : assert (m_axi_o.rready == (32'(behind) != Depth));
      i_awaited : assert (32'(awaited_q) == 32'(owed_q) + 32'(offered));
      i_room : assert (32'(awaited_q) + 32'(behind) + 32'(m_axis_tvalid) <= Depth);
      i_aligned : assert (!ask_q || 32'(address) % MOST == 0);
      if (running_q) begin
        i_fixed : assert (fixed_q);
        i_last : assert (right == '1);
        i_held : assert (32'(held_q) == 32'(awaited_q) + 32'(count));
        i_left : assert (left_q <= beats_i);
        i_some : assert (beats_i == '0 || left_q != '0);
        i_none : assert (beats_i != '0 || held_q == '0);
        i_after : assert (after == beats_i - left_q);
        i_starts : assert (place_q % MOST == 0 && (beats_i - left_q) % MOST == 0);
        i_next : assert (next_q == first + beat_t'(beats_i - left_q));
        i_whole : assert (ask_q || (whole_q == (left_q > MOST) && some_q == (left_q != '0)));
        i_due : assert (rests[count] == due_q);
      end
    end
  end

endmodule

bind plane_reader plane_reader_formal #(
    .DataW   (DataW),
    .AddrW   (AddrW),
    .Depth   (Depth),
    .MaxBurst(MaxBurst)
) u_formal (
    .memory (u_buffer.memory),
    .write_q(u_buffer.write_q),
    .read_q (u_buffer.read_q),
    .*
);
